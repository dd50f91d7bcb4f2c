package web

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/web/door"
	"nod/chat"
	"nod/internal/doortest"
	"nod/internal/ledger"
)

// tray notes what people do, and answers from what a test laid into it.
type tray struct {
	*ledger.Ledger
	messages []chat.Message
	did      []string
}

var errBroken = errors.New("the store is away")

func (y *tray) put(what string, ids []string) (fresh bool, err error) {
	y.Do(func() {
		if err = y.Fail; err != nil || y.Known[ids[0]] {
			return
		}
		y.Known[ids[0]], fresh = true, true
		y.did = append(y.did, what)
	})
	return fresh, err
}

func (y *tray) Message(_ context.Context, thread chat.ThreadID, m chat.Message, ids ...string) (bool, error) {
	fresh, err := y.put("message in "+thread.Channel+" by "+string(m.From.ID)+": "+m.Text, ids)
	if fresh {
		y.messages = append(y.messages, m)
	}
	return fresh, err
}

func (y *tray) Reaction(_ context.Context, r chat.Reaction, ids ...string) (bool, error) {
	what := r.Emoji + " by " + string(r.By.ID)
	if r.Button {
		what += " by button"
	}
	if r.Grant != nil {
		what += " for a while"
	}
	if r.Removed {
		what += " removed"
	}
	return y.put(what, ids)
}

func (y *tray) Halt(_ context.Context, _ chat.ThreadID, by chat.User, ids ...string) (bool, error) {
	return y.put("halt by "+string(by.ID), ids)
}

func (y *tray) Watermarks(context.Context, string, time.Time, int) iter.Seq2[chat.Watermark, error] {
	return func(yield func(chat.Watermark, error) bool) {
		for thread := range y.Past {
			if !yield(chat.Watermark{Thread: thread}, nil) {
				return
			}
		}
	}
}

// room is a page that somebody has opened.
type room struct {
	t    *testing.T
	a    *Adapter
	tray *tray
	web  http.Handler
	in   []*http.Cookie
}

func openRoom(t *testing.T) *room {
	t.Helper()
	y := &tray{Ledger: ledger.New()}
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	a := &Adapter{o: Options{Inbox: y, Now: func() time.Time { return at }}, board: newBoard(), mirror: make(chan struct{}, 1)}
	a.log = slog.New(slog.DiscardHandler)
	a.Front = newFront(a)
	var printed []string
	a.door = door.New(door.Options{Address: "127.0.0.1:8484", Print: func(line string) { printed = append(printed, line) }, Access: Access(&doortest.Notes{}, a.o.Now)})
	a.door.Announce(t.Context())
	r := &room{t: t, a: a, tray: y, web: a.Handler()}
	r.in = doortest.Enter(t, r.web, printed)
	return r
}

// send sends a form; the fields come in pairs.
func (r *room) send(path string, fields ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	form := url.Values{"as": {"ada"}, "id": {newID()}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return r.submit(path, "application/x-www-form-urlencoded", form.Encode())
}

func (r *room) submit(path, kind, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8484"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Origin", "http://127.0.0.1:8484")
	for _, c := range r.in {
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	r.web.ServeHTTP(w, req)
	return w
}

func (r *room) get(target string) *httptest.ResponseRecorder {
	return doortest.Ask(r.web, "GET", target, r.in)
}

// Who is spoken to decides whether a message reaches the bot.
func TestWhoIsSpokenTo(t *testing.T) {
	for _, tt := range []struct {
		name, as, c, thread, text string
		standing                  chat.Standing
		want                      string // what reaches the bot; "" is nothing
	}{
		{name: "the lobby is for nod", as: "ada", c: "lobby", text: "why?", want: "why?"},
		{name: "but not what is to somebody else", as: "ada", c: "lobby", text: "@ben why?", want: ""},
		{name: "a channel is for people", as: "ada", c: "general", text: "why?", want: ""},
		{name: "a mention", as: "ben", c: "general", text: "@nod: why?", want: "why?"},
		{name: "a mention in the middle", as: "ben", c: "ops", text: "hey @nod why?", want: "hey @nod why?"},
		{name: "an address is no mention", as: "ben", c: "ops", text: "write to x@nod", want: ""},
		{name: "to nod itself", as: "cid", c: "direct", text: "why?", want: "why?"},
		{name: "a thread of one's own", as: "ada", c: "ops", thread: "thread01", text: "and?", standing: chat.Standing{Known: true, Callers: []chat.UserID{"ada"}}, want: "and?"},
		{name: "a thread of somebody else's", as: "ben", c: "ops", thread: "thread01", text: "and?", standing: chat.Standing{Known: true, Callers: []chat.UserID{"ada"}}, want: "and? (aside)"},
		{name: "to somebody else in it", as: "ada", c: "ops", thread: "thread01", text: "@cid and?", standing: chat.Standing{Known: true, Callers: []chat.UserID{"ada"}}, want: "@cid and? (aside)"},
		{name: "to both", as: "ben", c: "ops", thread: "thread01", text: "@nod @cid and?", standing: chat.Standing{Known: true, Callers: []chat.UserID{"ada"}}, want: "@cid and?"},
		{name: "where it is muted", as: "ada", c: "ops", thread: "thread01", text: "and?", standing: chat.Standing{Known: true, Muted: true, Callers: []chat.UserID{"ada"}}, want: "and? (aside)"},
		{name: "stop, by anybody", as: "cid", c: "ops", thread: "thread01", text: "stop", standing: chat.Standing{Known: true, Running: true, Callers: []chat.UserID{"ada"}}, want: "stop"},
		{name: "a thread of people", as: "ada", c: "ops", thread: "thread01", text: "and?", want: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openRoom(t)
			r.tray.Threads[threadID(tt.c, tt.thread)] = tt.standing
			if w := r.send("/say", "as", tt.as, "c", tt.c, "t", tt.thread, "text", tt.text); w.Code != http.StatusSeeOther {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			got := ""
			for _, m := range r.tray.messages {
				got += m.Text
				if m.Aside {
					got += " (aside)"
				}
			}
			if got != tt.want {
				t.Errorf("the bot got %q, want %q", got, tt.want)
			}
			if len(r.a.board.items) != 1 {
				t.Errorf("%d messages on the board", len(r.a.board.items))
			}
		})
	}
}

// Called into a thread of people, the bot is told what was said there.
func TestCalledInto(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "ops", "text", "it is slow", "id", "thread01")
	r.send("/say", "c", "ops", "t", "thread01", "as", "ben", "text", "very")
	r.send("/say", "c", "ops", "t", "thread01", "as", "cid", "text", "@nod why?")
	want := []chat.Quote{{From: People[0], Text: "it is slow"}, {From: People[1], Text: "very"}}
	if len(r.tray.messages) != 1 || !slices.Equal(r.tray.messages[0].Quoted, want) {
		t.Errorf("the bot got %+v", r.tray.messages)
	}
}

// A form that is sent twice counts once, and one that was not taken in is seen
// as that.
func TestFormTwice(t *testing.T) {
	r := openRoom(t)
	for range 2 {
		r.send("/say", "c", "lobby", "text", "why?", "id", "once-000")
	}
	if len(r.tray.did) != 1 || len(r.a.board.items) != 1 {
		t.Errorf("%q, %d on the board", r.tray.did, len(r.a.board.items))
	}
	r.tray.Fail = errBroken
	w := r.send("/say", "c", "lobby", "text", "lost?", "id", "lost-000")
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "try again") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if body := r.get("/").Body.String(); !strings.Contains(body, `data-state="gone"`) {
		t.Error("a message that was not taken in looks as if it were")
	}
}
