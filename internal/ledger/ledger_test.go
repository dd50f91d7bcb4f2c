package ledger

import (
	"context"
	"errors"
	"testing"

	"nod/chat"
	"nod/front"
)

var _ front.Inbox = (*Ledger)(nil)

// An event with any known id is not put again. A failing ledger remembers nothing.
func TestPut(t *testing.T) {
	ctx, l := t.Context(), New()
	thread := chat.ThreadID{Platform: "p", Channel: "c"}
	l.Fail = errors.New("down")
	if _, err := l.Message(ctx, thread, chat.Message{Text: "one"}, "a"); err == nil {
		t.Error("it does not fail")
	}
	l.Fail = nil
	for i, ids := range [][]string{{"a", "b"}, {"b", "c"}, {"a"}} {
		if fresh, err := l.Message(ctx, thread, chat.Message{Text: "one"}, ids...); err != nil || fresh != (i == 0) {
			t.Errorf("put under %q: fresh %v, %v", ids, fresh, err)
		}
	}
	if st, err := l.Standing(ctx, thread); !st.Known || err != nil || len(l.Messages) != 1 || l.Repeats != 2 || len(l.Marks) != 1 {
		t.Errorf("it is %+v", l)
	}
}

func TestBlob(t *testing.T) {
	l := New()
	name, err := l.Keep(t.Context(), chat.ThreadID{}, []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := l.Blob(t.Context(), chat.ThreadID{}, name); err != nil || string(data) != "data" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := l.Blob(t.Context(), chat.ThreadID{}, "other"); !errors.Is(err, chat.ErrNoFile) {
		t.Errorf("another blob: %v", err)
	}
}

// Await sees the entries that are put while it waits.
func TestAwait(t *testing.T) {
	l := New()
	stop := Run(t, func(ctx context.Context) error {
		_, err := l.Halt(ctx, chat.ThreadID{}, chat.User{}, "h")
		<-ctx.Done()
		return err
	})
	l.Await(t, func() bool { return len(l.Halts) == 1 })
	stop()
}
