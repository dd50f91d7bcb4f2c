package outbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
)

func TestPriorityOf(t *testing.T) {
	for want, p := range map[string]chat.Post{
		"approval": {Approval: &chat.Approval{}}, "steps": {Steps: &chat.Steps{}},
		"answer": {Text: &chat.Text{Notice: true}},
	} {
		if got := PriorityOf(p).String(); got != want {
			t.Errorf("%+v has priority %s, want %s", p, got, want)
		}
	}
	if got := PriorityOf(chat.Post{File: &chat.File{}}); got != Answer {
		t.Errorf("a file has priority %v", got)
	}
	want := map[string]int{"approval": 0, "answer": 0, "steps": 0, "low": 0}
	if diff := cmp.Diff(want, New(Options{}).DepthByName()); diff != "" {
		t.Errorf("depth (-want +got):\n%s", diff)
	}
}

// An older version is refused whenever it comes; the same one may be drawn
// again, after a failure.
func TestVersions(t *testing.T) {
	var v Versions
	ref := chat.MessageRef{ID: "1"}
	for i, tt := range []struct {
		version uint64
		newer   bool
	}{{3, true}, {2, false}, {3, true}, {7, true}, {6, false}} {
		if got := v.Newer(ref, tt.version); got != tt.newer {
			t.Errorf("%d: version %d is newer: %v", i, tt.version, got)
		}
	}
	if !v.Newer(chat.MessageRef{ID: "2"}, 1) {
		t.Error("versions of one message count for another")
	}
}
