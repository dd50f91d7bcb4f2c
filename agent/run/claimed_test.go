package run_test

import (
	"fmt"
	"testing"

	"nod/chat"
	"nod/memory"
)

func onBoard(i int) chat.ThreadID {
	return chat.ThreadID{Platform: "board", Channel: "c", Root: fmt.Sprint("r", i)}
}

// claimed puts a message and claims its thread.
func claimed(t *testing.T, store memory.Full, thread chat.ThreadID, m memory.Message) *memory.Run {
	t.Helper()
	if _, err := store.Put(t.Context(), thread, m); err != nil {
		t.Fatal(err)
	}
	r, err := store.Next(t.Context(), thread.Platform)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
