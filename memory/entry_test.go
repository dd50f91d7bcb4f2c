package memory_test

import (
	"encoding/json"
	"strings"
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
	memory.Left{By: ada},
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
	memory.Reason{Call: "c", By: ada},
	memory.Change{Call: "c", By: ada, Args: "{}"},
	memory.Order{By: ada, Tool: "t", Args: "{}", Of: "1-1-1"},
	memory.Ran{Turn: 1, Seen: 2, By: ada, Call: memory.Call{ID: "1-1-1", Tool: "t", Args: "{}", Object: true}},
	memory.Previewed{Call: "c", Of: "o", Sum: "s", Text: "would", Err: "e", Took: time.Second},
	memory.Changed{Request: 7, Call: "c", By: ada, Args: "{}", Digest: "d"},
	memory.Decided{Call: "c", Outcome: chat.Denied, By: []chat.User{ada}},
	memory.Trimmed{Before: 3, Stubs: []string{"c"}, Clip: 9},
	memory.Forgot{By: ada, Before: 3, Horizon: time.Unix(9, 0).UTC(), Callers: []chat.UserID{"ada"}},
	memory.Question{ID: "c?1", Call: "c", By: "p", Claim: "t", Asks: chat.Question{From: "s", Text: "which?", Schema: "{}"}},
	memory.Answered{Question: "c?1", Message: 9, Answer: chat.Answer{How: chat.Accepted, By: ada, Text: "that", Values: `{"a":1}`}, Why: "w"},
	memory.Held{Call: "c", Handle: chat.Handle{Key: "k", Server: "s", Repeats: true, Asks: []chat.Question{{From: "s", Text: "which?"}}}},
	memory.Belongs{Turn: 1, Who: ada.ID, Rules: []string{"group:S1"}, In: []string{"group:S1"}},
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
		got := memory.Decode(raw)
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
		b := memory.Decode([]byte(raw))
		if u, ok := b.(memory.Unknown); !ok || u.Skip {
			t.Fatalf("Decode(%s) = %+v, want an Unknown that may not be skipped", raw, b)
		}
		again, err := memory.Encode(b)
		if err != nil || string(again) != raw {
			t.Errorf("Encode = %s, %v; want %s", again, err, raw)
		}
	}
}

// A damaged entry is one that is broken, not a guess, and nobody's error. It is
// written back as it is.
func TestDamaged(t *testing.T) {
	for _, raw := range []string{``, `{`, `[]`, `{}`, `{"k":"message","v":1,"b":5}`, `{"k":"step","v":1,"b":{"n":"x"}}`} {
		b, ok := memory.Decode([]byte(raw)).(memory.Broken)
		if !ok || b.Err == "" {
			t.Errorf("Decode(%q) = %+v, want a Broken that says why", raw, b)
		}
		if again, err := memory.Encode(b); err != nil || string(again) != raw {
			t.Errorf("Encode = %q, %v; want %q", again, err, raw)
		}
	}
}

// A later build may say of a kind that it can be left out, and only then it is.
func TestSkipped(t *testing.T) {
	b := memory.Decode([]byte(`{"k":"hummed","v":1,"s":true,"b":{}}`))
	if u, ok := b.(memory.Unknown); !ok || !u.Skip {
		t.Errorf("Decode = %+v, want an Unknown that may be skipped", b)
	}
	raw, err := memory.Encode(memory.Seen{Message: 1})
	if err != nil || !strings.Contains(string(raw), `"s":true`) {
		t.Errorf("Encode(Seen) = %s, %v; an older build may leave it out", raw, err)
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
		b := memory.Decode(data)
		if _, ok := b.(memory.Broken); ok {
			return
		}
		raw, err := memory.Encode(b)
		if err != nil {
			t.Fatalf("what was decoded can't be encoded: %v", err)
		}
		if !json.Valid(raw) {
			t.Fatalf("Encode gives no JSON: %q", raw)
		}
		again := memory.Decode(raw)
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
