package main

import "testing"

// Memory is given back once after there was something to do, and not while there is.
func TestRest(t *testing.T) {
	var r rest
	const mb = 1 << 20
	for i, step := range []struct {
		allocated uint64
		due       bool
	}{
		{9 * mb, false},      // the start
		{9*mb + 4096, true},  // at rest
		{9*mb + 8192, false}, // still
		{23 * mb, false},
		{23*mb + 1, false}, // too little
		{90 * mb, false},
		{160 * mb, false},
		{160*mb + 9, true},
		{160*mb + 99, false},
	} {
		if due := r.due(step.allocated); due != step.due {
			t.Errorf("look %d, %d bytes: %v", i, step.allocated, due)
		}
	}
}

// A few answers are too little for that at once, and are given back after a longer rest,
// once; what a program allocates that has nothing to do is not.
func TestLongRest(t *testing.T) {
	r := rest{last: 9 << 20, given: 9 << 20}
	const few = 10 << 20
	if r.due(few) { // there is something to do
		t.Error("given back while busy")
	}
	if r.due(few + 1) {
		t.Error("given back at once")
	}
	given := 0
	for look := range uint64(5 * restLong) {
		if r.due(few + look*512) {
			given++
		}
	}
	if given != 1 {
		t.Errorf("given back %d times, want once", given)
	}
}
