package web

import (
	"strings"
	"testing"

	"nod/chat"
)

// Who looks at a card sees who approved so far, and no tally of emoji: the bot puts some of
// them, and some do not count. Approve is grey for those who may not, and says why.
func TestBallot(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	p := chat.Approval{
		Call: "c1", Tool: "x", Quorum: 2, Approvers: []string{"requester", "user:ben"}, Requester: People[0],
		Exclude: []chat.User{People[0]}, Approve: []string{"✅", "👍"}, Deny: []string{"❌"}, By: []chat.User{People[1]},
	}
	ref, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "ask", Approval: &p}, false)
	for _, who := range []string{"ada", "ben", "cid"} { // two of these votes do not count
		r.send("/react", "ref", ref.String(), "emoji", "👍", "as", who)
	}
	for who, want := range map[string]struct{ has, hasNot []string }{
		"ada": {
			has:    []string{"1 of 2 approved: ben", `value="approve" disabled`, `value="deny">`, "You may not approve this: somebody who did not ask for it has to."},
			hasNot: []string{`name="removed"`, "👍 <span>"},
		},
		"ben": {
			has:    []string{"1 of 2 approved: ben", `value="approve">`, `value="deny">`, `name="removed" value="👍">Take back`},
			hasNot: []string{"disabled", "👍 <span>", "✅ <span>", "❌ <span>"},
		},
		"cid": {
			has:    []string{"1 of 2 approved: ben", `value="approve" disabled`, `value="deny" disabled`, "You may not decide this: only ada, ben may."},
			hasNot: []string{`name="removed"`},
		},
	} {
		body := r.get("/?c=lobby&t=message0&as=" + who).Body.String()
		for _, s := range want.has {
			if !strings.Contains(body, s) {
				t.Errorf("%s does not see %q", who, s)
			}
		}
		for _, s := range want.hasNot {
			if strings.Contains(body, s) {
				t.Errorf("%s sees %q", who, s)
			}
		}
	}
	p.Outcome, p.Headline = chat.Approved, "Approved by ben · running"
	_ = r.a.Edit(t.Context(), thread, ref, chat.Post{Key: "ask", Approval: &p})
	if body := r.get("/?c=lobby&t=message0").Body.String(); strings.Contains(body, "✅ <span>") || strings.Contains(body, "❌ <span>") {
		t.Error("a card that is decided shows a tally")
	}
}

// In a direct conversation there is nobody else who could approve, so nobody is asked in vain.
func TestPossible(t *testing.T) {
	r := openRoom(t)
	for thread, want := range map[chat.ThreadID]bool{threadID("lobby", "message0"): true, directOf("ada"): false} {
		if got := r.a.Possible(t.Context(), thread, chat.Anyone); got != want {
			t.Errorf("anyone in %v: %v", thread, got)
		}
		if r.a.Possible(t.Context(), thread, "group:OPS") {
			t.Errorf("a group in %v: there is none", thread)
		}
	}
}
