package web

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
)

// An older version of the steps never replaces a newer one, and a repeat changes
// nothing.
func TestDrawing(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	steps := func(version uint64, status string, done bool) chat.Post {
		return chat.Post{Key: "steps", Steps: &chat.Steps{Version: version, Status: status, Done: done}}
	}
	ref, _ := r.a.Post(t.Context(), thread, steps(1, "one", false), false)
	_ = r.a.Edit(t.Context(), thread, ref, steps(3, "three", false))
	_ = r.a.Edit(t.Context(), thread, ref, steps(2, "two", false))
	if again, _ := r.a.Post(t.Context(), thread, steps(1, "one", false), true); again != ref {
		t.Errorf("posted again under %v, not %v", again, ref)
	}
	if it, _ := r.a.board.find(ref); it.post.Steps.Status != "three" {
		t.Errorf("it shows %q", it.post.Steps.Status)
	}
	before := r.a.board.changed
	_ = r.a.Edit(t.Context(), thread, ref, steps(3, "three", false))
	if r.a.board.changed != before {
		t.Error("a repeat counts as a change")
	}
	_ = r.a.Edit(t.Context(), thread, ref, steps(3, "done", true))
	_ = r.a.Edit(t.Context(), thread, ref, steps(4, "late", false))
	if it, _ := r.a.board.find(ref); it.post.Steps.Status != "done" {
		t.Errorf("it shows %q", it.post.Steps.Status)
	}
}

// Clicks on buttons are reactions, and are said to be clicks.
func TestButtons(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	ref, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "ask", Approval: &chat.Approval{Tool: "x", Approve: []string{"white_check_mark", "👍"}, Deny: []string{"❌"}}}, false)
	answer, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "answer", Text: &chat.Text{Markdown: "x"}}, false)
	r.tray.Threads[thread] = chat.Standing{Known: true, Running: true}
	for _, what := range []string{"approve", "deny", "stop"} {
		r.send("/press", "ref", ref.String(), "what", what, "as", "ben")
	}
	r.send("/press", "ref", answer.String(), "what", "again")
	r.send("/react", "ref", answer.String(), "emoji", "thumbsup")
	r.send("/react", "ref", answer.String(), "removed", "👍")
	want := []string{"✅ by ben by button", "❌ by ben by button", "halt by ben", "🔄 by ada by button", "👍 by ada", "👍 by ada removed"}
	if diff := cmp.Diff(want, r.tray.did); diff != "" {
		t.Error(diff)
	}
	if it, _ := r.a.board.find(ref); len(it.reactions) != 2 {
		t.Errorf("the bot's own marks: %+v", it.reactions)
	}
}

// Who voted by a button sees it, as everybody does, and can take it back.
func TestButtonsShow(t *testing.T) {
	r := openRoom(t)
	p := chat.Approval{Tool: "x", Quorum: 2, Approve: []string{"✅"}, Deny: []string{"❌"}}
	ref, _ := r.a.Post(t.Context(), threadID("lobby", "message0"), chat.Post{Key: "ask", Approval: &p}, false)
	marks := func() string {
		it, _ := r.a.board.find(ref)
		return fmt.Sprint(it.reactions)
	}
	r.send("/press", "ref", ref.String(), "what", "approve", "as", "ben")
	if got := marks(); got != "[{✅ [nod ben]} {❌ [nod]}]" {
		t.Error("after a click on Approve:", got)
	}
	r.send("/react", "ref", ref.String(), "removed", "✅", "as", "ben")
	if got := marks(); got != "[{✅ [nod]} {❌ [nod]}]" {
		t.Error("after it was taken back:", got)
	}
	p.Outcome = chat.Expired
	_ = r.a.Edit(t.Context(), threadID("lobby", "message0"), ref, chat.Post{Key: "ask", Approval: &p})
	r.send("/press", "ref", ref.String(), "what", "approve", "as", "cid")
	if got := marks(); got != "[{✅ [nod]} {❌ [nod]}]" {
		t.Error("after a click on what is decided:", got)
	}
}

// The store's conversations are there at the start, in order, and a repeated post
// stands once.
func TestLoad(t *testing.T) {
	r := openRoom(t)
	thread, at := threadID("lobby", "message0"), time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	answer := chat.Post{Key: "answer", Text: &chat.Text{Markdown: "42"}}
	r.tray.Past[thread] = []chat.Line{
		{At: at, Message: &chat.Message{From: People[1], Text: "why?"}, Ref: messageRef("lobby", "message0")},
		{At: at.Add(time.Second), Post: &answer, Ref: postRef(thread, "answer")},
		{At: at.Add(time.Second), Post: &chat.Post{Key: "lost", Text: &chat.Text{Markdown: "not posted yet"}}},
	}
	r.tray.Past[threadID("lobby", "message1")] = []chat.Line{{At: at.Add(-time.Hour), Message: &chat.Message{From: People[0], Text: "earlier"}, Ref: messageRef("lobby", "message1")}}
	if err := r.a.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _ = r.a.Post(t.Context(), thread, answer, true)
	if len(r.a.board.items) != 3 {
		t.Errorf("%d on the board", len(r.a.board.items))
	}
	body := r.get("/?c=lobby&t=message0").Body.String()
	early, why, answered := strings.Index(body, "earlier"), strings.Index(body, "why?"), strings.Index(body, "<p>42</p>")
	if early < 0 || why < early || answered < why || !strings.Contains(body, "1 reply") {
		t.Errorf("at %d, %d, %d of\n%s", early, why, answered, body)
	}
}

// The conversation of the terminal is there to be read: nothing on it can be pressed,
// since nothing of that would be taken in.
func TestTerminalIsRead(t *testing.T) {
	r := openRoom(t)
	thread := chat.ThreadID{Platform: "terminal", Channel: "local", Root: "main"}
	r.a.o.Terminal = thread
	ref := func(id string) chat.MessageRef {
		return chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: id}
	}
	for i, p := range []chat.Post{
		{Steps: &chat.Steps{Turn: "1", Version: 1, Status: "Running x", Items: []chat.Step{{Calls: []chat.ToolCall{{ID: "c1", Tool: "x", Args: "{}", State: "done", Again: true}}}}}},
		{Approval: &chat.Approval{Call: "c1", Tool: "x", Approve: []string{"✅"}, Deny: []string{"❌"}, Grant: time.Hour}},
		{Text: &chat.Text{Markdown: "42"}},
	} {
		r.a.restore(t.Context(), spoken{thread, chat.Line{Post: &p, Ref: ref(string(rune('a' + i)))}})
	}
	body := r.get("/?c=terminal").Body.String()
	log := body[strings.Index(body, `id="log-channel"`):strings.Index(body, `class="foot"`)]
	if !strings.Contains(log, "<p>42</p>") || !strings.Contains(log, "Running x") {
		t.Fatal(body)
	}
	if strings.Contains(log, "<form") {
		t.Errorf("there are forms:\n%s", log)
	}
}

// Who has voted on a call that waits is seen after a start, too.
func TestLoadVotes(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	p, ref := chat.Approval{Call: "c1", Tool: "x", Quorum: 2, Approve: []string{"✅"}, Deny: []string{"❌"}}, postRef(thread, "ask")
	r.tray.Past[thread] = []chat.Line{{Post: &chat.Post{Key: "ask", Approval: &p}, Ref: ref}}
	r.tray.Waiting = []chat.Pending{{Thread: thread, Call: "c1", Ref: ref, Approved: []chat.Reaction{{On: ref, By: People[1], Emoji: "✅"}}}}
	if err := r.a.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	it, _ := r.a.board.find(ref)
	if got := fmt.Sprint(it.reactions); got != "[{✅ [nod ben]} {❌ [nod]}]" {
		t.Error(got)
	}
}

// A post while the past is read stands behind it, and a newer drawing is not replaced
// by an older one.
func TestPostedWhileItLoads(t *testing.T) {
	r := openRoom(t)
	thread, at := threadID("lobby", "message0"), time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	waits, over := chat.Approval{Call: "c1", Tool: "deploy", Approve: []string{"✅"}}, chat.Approval{Call: "c1", Tool: "deploy", Outcome: chat.Expired}
	ask := postRef(thread, "ask")
	r.tray.Past[thread] = []chat.Line{
		{At: at, Message: &chat.Message{From: People[1], Text: "why?"}, Ref: messageRef("lobby", "message0")},
		{At: at.Add(time.Second), Post: &chat.Post{Key: "ask", Approval: &waits}, Ref: ask},
	}
	r.a.o.Inbox = meanwhile{r.tray, func() {
		_, _ = r.a.Post(t.Context(), thread, chat.Post{Key: "answer", Text: &chat.Text{Markdown: "42"}}, false)
		_ = r.a.Edit(t.Context(), thread, ask, chat.Post{Key: "ask", Approval: &over})
	}}
	if err := r.a.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	body := r.get("/?c=lobby&t=message0").Body.String()
	body = body[strings.Index(body, `id="log-thread"`):]
	asked, card, answered := strings.Index(body, "why?"), strings.Index(body, `data-state="expired"`), strings.Index(body, "<p>42</p>")
	if asked < 0 || card < asked || answered < card {
		t.Errorf("at %d, %d, %d of\n%s", asked, card, answered, body)
	}
}

// meanwhile has something happen while a conversation is read.
type meanwhile struct {
	*tray
	do func()
}

func (m meanwhile) History(ctx context.Context, thread chat.ThreadID) ([]chat.Line, error) {
	past, err := m.tray.History(ctx, thread)
	m.do()
	return past, err
}

func (y *tray) Reason(_ context.Context, _ chat.ThreadID, call string, by chat.User, text string, ids ...string) (bool, error) {
	return y.put(call+" denied by "+string(by.ID)+" for "+text, ids)
}

// Who denies a call is asked why, and nobody else is.
func TestReason(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	ask := chat.Post{Key: "ask", Approval: &chat.Approval{Call: "c1", Tool: "x", Deny: []string{"❌"}}}
	ref, _ := r.a.Post(t.Context(), thread, ask, false)
	if w := r.send("/why", "ref", ref.String(), "reason", "so"); w.Code != http.StatusConflict {
		t.Errorf("a reason that nobody asked for: status %d", w.Code)
	}
	r.send("/press", "ref", ref.String(), "what", "deny", "as", "ben")
	denied := *ask.Approval
	denied.Outcome, denied.By = chat.Denied, People[1:2]
	_ = r.a.Edit(t.Context(), thread, ref, chat.Post{Key: "ask", Approval: &denied})
	r.a.Wait()
	r.send("/press", "ref", ref.String(), "what", "deny", "as", "cid") // whose page does not show that yet
	for as, want := range map[string]bool{"ben": true, "ada": false} {
		body := r.get("/?c=lobby&t=message0&as=" + as).Body.String()
		if strings.Contains(body, `action="/why"`) != want {
			t.Errorf("%s is asked why: %v", as, !want)
		}
	}
	if w := r.send("/why", "ref", ref.String(), "as", "ben", "reason", strings.Repeat("x", 2000)); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a long reason: status %d", w.Code)
	}
	r.send("/why", "ref", ref.String(), "as", "ben", "reason", "too late")
	if want := []string{"❌ by ben by button", "❌ by cid by button", "c1 denied by ben for too late"}; !slices.Equal(r.tray.did, want) {
		t.Errorf("did %q", r.tray.did)
	}
}

// The emoji at hand on a card that waits are those that decide about it, as they are
// configured; elsewhere they are the usual ones.
func TestQuickEmoji(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	p := chat.Approval{Call: "c1", Tool: "x", Approve: []string{"rocket", "✅"}, Deny: []string{"⛔"}}
	ref, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "ask", Approval: &p}, false)
	_, _ = r.a.Post(t.Context(), thread, chat.Post{Key: "answer", Text: &chat.Text{Markdown: "x"}}, false)
	offered := func() (out []string) {
		for _, line := range regexp.MustCompile(`data-quick="([^"]*)"`).FindAllStringSubmatch(r.get("/?c=lobby&t=message0").Body.String(), -1) {
			out = append(out, strings.ReplaceAll(line[1], " ", ""))
		}
		return out
	}
	usual := strings.Join(quick, "")
	if got := offered(); !slices.Contains(got, "🚀✅⛔👀🛑") || !slices.Contains(got, usual) {
		t.Errorf("offered %q", got)
	}
	p.Outcome = chat.Approved
	_ = r.a.Edit(t.Context(), thread, ref, chat.Post{Key: "ask", Approval: &p})
	if got := offered(); slices.ContainsFunc(got, func(line string) bool { return line != usual }) {
		t.Errorf("offered %q once it is decided", got)
	}
}
