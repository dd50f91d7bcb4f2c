package memory_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/llm"
	"nod/memory"
)

var ada = chat.User{ID: "U1", Name: "Ada"}

// one of every kind
var bodies = []memory.Body{
	memory.Message{Message: chat.Message{Ref: chat.MessageRef{Platform: "p", Channel: "c/d", ID: "1"}, From: ada, Text: "hi", Sent: time.Unix(1, 2000).UTC(), Files: []chat.File{{Name: "a", Size: 1}}}},
	memory.Edited{Text: "x"},
	memory.Deleted{},
	memory.Due{},
	memory.Halt{By: ada},
	memory.Reaction{Reaction: chat.Reaction{On: chat.MessageRef{Platform: "p", Channel: "c", ID: "1"}, By: ada, Emoji: "✅", Found: true}},
	memory.Opened{Turn: 1, Requester: ada},
	memory.Step{Turn: 1, N: 2, Seen: 3, Thought: "t", Calls: []memory.Call{{ID: "1-2-1", Tool: "x", Args: "{"}}, Usage: llm.Usage{Prompt: 1}, Took: time.Second},
	memory.Result{Call: "1-2-1", Tool: "x", State: chat.CallDone, Text: "ok"},
	memory.Started{Call: "c", Tool: "t", Digest: "d"},
	memory.Posted{Key: "k"},
	memory.Seen{Message: 4},
	memory.Stopped{Seen: 1, Turn: 2, By: ada},
	memory.Failed{Turn: 1, Reason: "r"},
	memory.Ended{Turn: 1},
	memory.Asked{Call: "c", Requester: ada, Rules: memory.Rules{Approvers: []string{"anyone"}, Quorum: 2, Timeout: time.Minute}},
	memory.Vote{Reaction: 3, Call: "c", By: ada, Verdict: memory.Deny, Counts: true},
	memory.Decided{Call: "c", Outcome: chat.Denied, By: []chat.User{ada}},
	memory.Trimmed{Before: 3, Stubs: []string{"c"}, Clip: 9},
	memory.Forgot{By: ada, Before: 3, Horizon: time.Unix(9, 0).UTC()},
}

// Every kind survives its encoding.
func TestRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range bodies {
		seen[b.Kind()] = true
		raw, err := memory.Encode(b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := memory.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, got); diff != "" {
			t.Errorf("%s (-put +got):\n%s", b.Kind(), diff)
		}
	}
	if len(seen) != len(bodies) {
		t.Errorf("%d kinds among %d bodies: one is there twice", len(seen), len(bodies))
	}
}

// A kind, or a version, that this build does not know is kept as it is.
func TestUnknown(t *testing.T) {
	for _, raw := range []string{
		`{"k":"dreamt","v":1,"b":{"of":"sheep"}}`,
		`{"k":"message","v":99,"b":{"text":["not","what","it","was"]}}`,
	} {
		b, err := memory.Decode([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := b.(memory.Unknown); !ok {
			t.Fatalf("Decode(%s) = %T, want Unknown", raw, b)
		}
		again, err := memory.Encode(b)
		if err != nil || string(again) != raw {
			t.Errorf("Encode = %s, %v; want %s", again, err, raw)
		}
	}
}

// A damaged entry is an error, not a guess.
func TestDamaged(t *testing.T) {
	for _, raw := range []string{``, `{`, `[]`, `{"k":"message","v":1,"b":5}`, `{"k":"step","v":1,"b":{"n":"x"}}`} {
		if b, err := memory.Decode([]byte(raw)); err == nil {
			if _, unknown := b.(memory.Unknown); !unknown {
				t.Errorf("Decode(%q) = %v, want an error", raw, b)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, b := range bodies {
		raw, err := memory.Encode(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := memory.Decode(data)
		if err != nil {
			return
		}
		raw, err := memory.Encode(b)
		if err != nil {
			t.Fatalf("what was decoded can't be encoded: %v", err)
		}
		if !json.Valid(raw) {
			t.Fatalf("Encode gives no JSON: %q", raw)
		}
		again, err := memory.Decode(raw)
		if err != nil {
			t.Fatalf("what was encoded can't be decoded: %v", err)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Errorf("a second reading differs (-first +second):\n%s", diff)
		}
	})
}

// The audit line of a decision names ids and digests, and no text.
func TestAuditHoldsNoText(t *testing.T) {
	thread := chat.ThreadID{Platform: "p", Channel: "c", Root: "1"}
	for i, b := range bodies {
		for _, line := range memory.EffectsOf(thread, []memory.Entry{{Seq: uint64(i), Body: b}}).Audit {
			raw, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			if line.Thread != thread || line.Event == "" {
				t.Errorf("audit of %s: %s", b.Kind(), raw)
			}
		}
	}
}
