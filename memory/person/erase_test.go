package person

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/chat/when"
	"nod/memory"
)

var (
	ada = chat.User{ID: "U1", Name: "ada"}
	ben = chat.User{ID: "U2", Name: "ben"}
	at  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func isAda(id chat.UserID) bool { return id == ada.ID }

func ref(id string) chat.MessageRef {
	return chat.MessageRef{Platform: "slack", Channel: "C1", ID: id}
}

func says(id string, who chat.User, text string, files ...chat.File) memory.Message {
	return memory.Message{Message: chat.Message{Ref: ref(id), From: who, Text: text, Files: files}}
}

func numbered(bodies ...memory.Body) (log []memory.Entry) {
	for i, b := range bodies {
		log = append(log, memory.Entry{Seq: uint64(i) + 1, At: at, Body: b})
	}
	return log
}

// conversation has a turn of ben's, a turn of ada's with a call that was approved, a turn
// of ben's in which ada spoke, and one that waits for ada's vote.
func conversation() []memory.Entry {
	asked := func(call string, who chat.User) memory.Asked {
		return memory.Asked{Call: call, Tool: "deploy", Requester: who, Rules: memory.Rules{Approvers: []string{"user:U1", "user:U2"}}}
	}
	secret := chat.File{Name: "SECRET.txt", Blob: "b1"}
	return numbered(
		says("1", ben, "hello"), memory.Opened{Turn: 1, Requester: ben}, memory.Step{Turn: 1, Answer: "good day"}, memory.Ended{Turn: 1},
		says("2", ada, "SECRET", secret, chat.File{Name: "SECRET too", Blob: "b2"}),
		memory.Opened{Turn: 5, Requester: ada},
		memory.Step{Turn: 5, Thought: "SECRET", Calls: []memory.Call{{ID: "c1", Tool: "deploy", Args: `{"a":"SECRET"}`}}},
		asked("c1", ada), memory.Vote{Call: "c1", By: ben, Verdict: memory.Approve, Counts: true},
		memory.Decided{Call: "c1", Outcome: chat.Approved, By: []chat.User{ben}},
		memory.Granted{Number: 1, Args: `{"a":"SECRET"}`, By: []chat.User{ada}, For: time.Hour, Uses: 3},
		memory.Ended{Turn: 5},
		memory.Result{Call: "c1", Text: "SECRET", Artifacts: []chat.File{{Name: "SECRET", Blob: "b3"}}},
		memory.Trimmed{
			Before: 1, Summary: "SECRET", Files: []chat.File{secret}, People: []chat.UserID{"U1", "U2"}, Callers: []chat.UserID{"U1"},
			Schedules: []memory.Standing{{Scheduled: memory.Scheduled{Number: 7, By: ada, Plan: secretPlan}}},
		},
		says("3", ben, "and now?", chat.File{Name: "same", Blob: "b2"}),
		memory.Message{Message: chat.Message{Ref: ref("4"), From: ben, Text: "see", Quoted: []chat.Quote{{From: ada, Text: "SECRET"}}}},
		memory.Opened{Turn: 15, Requester: ben},
		memory.Step{Turn: 15, Answer: "SECRET"}, memory.Ended{Turn: 15},
		says("5", ben, "deploy"), memory.Opened{Turn: 20, Requester: ben},
		memory.Step{Turn: 20, Calls: []memory.Call{{ID: "c2", Tool: "deploy", Args: `{"a":"ben's"}`}}},
		asked("c2", ben), memory.Reaction{Reaction: chat.Reaction{On: ref("card"), By: ada, Emoji: "👍"}},
		memory.Vote{Call: "c2", By: ada, Verdict: memory.Approve, Counts: true},
		memory.Scheduled{Number: 1, By: ada, Plan: secretPlan}, memory.Slot{Number: 1, By: ada, Plan: secretPlan, Why: "SECRET"},
	)
}

var secretPlan = when.Plan{Time: when.Time{Every: time.Hour}, Text: "SECRET"}

func TestErase(t *testing.T) {
	t.Parallel()
	log := conversation()
	out, found := Erase(log, isAda, at)
	want := Found{
		Messages: 2, Files: 2, Votes: 1, Grants: 1, Schedules: 1, Turns: 2, changed: true,
		refs: map[chat.MessageRef]bool{ref("2"): true}, blobs: map[string]bool{"b1": true, "b3": true},
	}
	if diff := cmp.Diff(want, found, cmp.AllowUnexported(Found{})); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	left := applied(t, log, out)
	for _, word := range []string{"SECRET", "U1", "ada", "slack/C1/2"} {
		if strings.Contains(left, word) {
			t.Errorf("%q is left in:\n%s", word, left)
		}
	}
	for _, kept := range []string{"hello", "good day", "and now?", "ben's", `"name":"same"`} {
		if !strings.Contains(left, kept) {
			t.Errorf("%q of ben's is gone from:\n%s", kept, left)
		}
	}
	if again, found := Erase(log, isAda, at); found.changed || len(again) != len(log) {
		t.Errorf("a second time something changed: %v", found)
	}
	word := numbered(says("1", ada, "remember: SECRET"), memory.Remembered{Number: 1, By: ada, Message: 1})
	if _, found := Erase(word, isAda, at); found.Messages != 1 || found.Turns != 0 {
		t.Errorf("a word that opened no turn: %v", found)
	}
}

// applied applies an erasure to the log, and gives the log as a store has it.
func applied(t *testing.T, log []memory.Entry, out []memory.Body) string {
	t.Helper()
	var b strings.Builder
	for i := range log {
		if out[i] != nil {
			log[i].Body = out[i]
		}
		raw, err := memory.Encode(log[i].Body)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(raw, '\n'))
	}
	return b.String()
}

// A turn of theirs that waits for an approval is theirs to the end, and what came after
// the erasure stays.
func TestEraseARunningTurn(t *testing.T) {
	t.Parallel()
	log := numbered(says("1", ada, "deploy"), memory.Opened{Turn: 1, Requester: ada},
		memory.Step{Turn: 1, Calls: []memory.Call{{ID: "c1", Args: `{}`}}}, memory.Asked{Call: "c1", Requester: ada})
	if _, found := Erase(log, isAda, at); !found.Running || found.Calls != 1 {
		t.Errorf("a turn that waits: %+v", found)
	}
	log = append(log, memory.Entry{Seq: 5, At: at.Add(time.Hour), Body: says("9", ada, "later")})
	out, _ := Erase(log, isAda, at)
	if left := applied(t, log, out); !strings.Contains(left, "later") {
		t.Errorf("a message from after the erasure is gone:\n%s", left)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	var got []string
	for _, l := range Export(chat.ThreadID{Platform: "slack", Channel: "C1"}, conversation(), isAda) {
		got = append(got, strings.TrimSpace(l.Kind+" "+l.Text+l.Name+l.Call))
	}
	want := []string{"message SECRET", "file SECRET.txt", "file SECRET too", "message SECRET", "vote c2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("export (-want +got):\n%s", diff)
	}
}
