package web

import (
	"fmt"
	"strings"
	"testing"

	"nod/chat"
)

// A page of a busy channel stays small: it holds the newest messages, and the way to
// earlier ones. A link to an earlier message shows it all the same.
func TestBusyChannel(t *testing.T) {
	r := openRoom(t)
	var first chat.MessageRef
	for i := range 1000 {
		thread := threadID("lobby", fmt.Sprintf("message%d", i))
		r.a.board.put(item{ref: messageRef("lobby", thread.Root), thread: thread, at: r.a.o.Now(), message: &chat.Message{From: People[0], Text: "what is slow here?"}})
		ref, _ := r.a.Post(t.Context(), threadID("lobby", "message999"), chat.Post{Key: fmt.Sprint(i), Text: &chat.Text{Markdown: "It is the disk."}}, false)
		if i == 0 {
			first = ref
		}
	}
	body := r.get("/?c=lobby&t=message999").Body.String()
	if n := strings.Count(body, "<article"); n != 2*screenful || len(body) > 300<<10 || strings.Count(body, ">Earlier</a>") != 2 {
		t.Errorf("%d messages, %d bytes", n, len(body))
	}
	body = r.get("/?c=lobby&n=200").Body.String()
	if n := strings.Count(body, "<article"); n != 2*screenful {
		t.Errorf("%d messages with the earlier ones", n)
	}
	to := view{Me: People[0]}.to(threadID("lobby", "message999"), first)
	address, id, _ := strings.Cut(to, "#")
	if body := r.get(address).Body.String(); !strings.Contains(body, `id="`+id+`"`) {
		t.Error("a link leads to no message:", to)
	}
}

// The page lists what waits for the person who looks, and counts nothing else.
func TestWaitingForYou(t *testing.T) {
	r := openRoom(t)
	thread := threadID("ops", "message0")
	r.send("/say", "c", "ops", "text", "@nod deploy", "id", "message0")
	p := chat.Approval{Call: "c1", Tool: "deploy", Requester: People[0], Approvers: []string{chat.Anyone}, Exclude: []chat.User{People[0]}, Approve: []string{"✅"}, Deny: []string{"❌"}}
	ref, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "ask", Approval: &p}, false)
	for as, n := range map[string]int{"ada": 0, "ben": 1} {
		body := r.get("/?c=waiting&as=" + as).Body.String()
		if !strings.Contains(body, fmt.Sprintf("Waiting for you (%d)", n)) || strings.Count(body, "<article") != n || strings.Contains(body, `class="badge"`) != (n > 0) {
			t.Errorf("%s is shown %s", as, body)
		}
	}
	since := r.a.board.mark(r.a.board.changed)
	over := p
	over.Outcome = chat.Approved
	_ = r.a.Edit(t.Context(), thread, ref, chat.Post{Key: "ask", Approval: &over})
	if got, _ := r.news("c=waiting&as=ben", since); !strings.Contains(got, `data-state="approved"`) {
		t.Errorf("once it is decided: %s", got)
	}
	if body := r.get("/?c=waiting&as=ben").Body.String(); strings.Contains(body, "<article") || !strings.Contains(body, "Nothing waits for you.") {
		t.Error("a decided card still waits")
	}
}
