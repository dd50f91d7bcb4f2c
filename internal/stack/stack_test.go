package stack

import (
	"sync"
	"testing"
)

// To ask for room takes none of the heap: the frame that asks for it is never filled.
func TestGrowAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, Grow); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// deep is a work with frames as those of JSON and HTTP are.
//
//go:noinline
func deep(n int) int {
	var frame [200]byte
	frame[n] = 1
	if n == 0 {
		return int(frame[n/2])
	}
	return deep(n-1) + int(frame[n/2])
}

func BenchmarkGo(b *testing.B) {
	for name, begin := range map[string]func(){"as it is": func() {}, "with room": Grow} {
		b.Run(name, func(b *testing.B) {
			var all sync.WaitGroup
			for b.Loop() {
				all.Go(func() {
					begin()
					deep(40)
				})
				all.Wait()
			}
		})
	}
}
