package document

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// A thread that floods the reader holds another up for one document at the most: the
// order in which they begin is counted, and not how long it takes.
func TestFloodOfDocuments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTurns(2)
		var begun []string
		gives := make(chan func(), 20)
		read := func(whose string) {
			go func() {
				done, ok := r.take(t.Context(), whose)
				if !ok {
					t.Error("no turn came")
					return
				}
				r.mu.Lock()
				begun = append(begun, whose)
				r.mu.Unlock()
				gives <- done
			}()
			synctest.Wait()
		}
		for range 10 {
			read("flood")
		}
		read("other")
		read("other")
		for range 12 {
			(<-gives)()
			synctest.Wait()
		}
		want := []string{"flood", "flood", "other", "flood", "other", "flood", "flood", "flood", "flood", "flood", "flood", "flood"}
		if len(begun) != 12 || begun[2] != "other" || slices.Index(begun[3:], "other") > 2 {
			t.Errorf("they began in the order %v, want one such as %v", begun, want)
		}
		if r.free != 2 || len(r.reads) != 0 || len(r.waiting) != 0 {
			t.Errorf("%d are free, %v are read, %d wait", r.free, r.reads, len(r.waiting))
		}
	})
}

// Who gives up waiting takes nobody's turn.
func TestTurnGivenUp(t *testing.T) {
	t.Parallel()
	r := newTurns(1)
	done, ok := r.take(t.Context(), "")
	if !ok {
		t.Fatal("a slot that is free is not given")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := r.take(ctx, ""); ok {
		t.Error("a turn came that was not free")
	}
	done()
	if _, ok := r.take(t.Context(), ""); !ok {
		t.Error("the slot is not free again")
	}
}
