package door

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"nod/internal/doortest"
)

// porch is the operator's door, on notes that outlive it, with a clock.
type porch struct {
	t       *testing.T
	notes   Notes
	now     time.Time
	printed []string
	room    http.Handler
}

func newPorch(t *testing.T) *porch {
	p := &porch{t: t, notes: &doortest.Notes{}, now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
	p.start()
	return p
}

func (p *porch) access() *Access {
	return &Access{Notes: p.notes, Page: "operator", Life: LinkLife, Now: func() time.Time { return p.now }}
}

// start is another process on the same notes.
func (p *porch) start() {
	d := New(Options{
		Address: "127.0.0.1:8484", Print: func(line string) { p.printed = append(p.printed, line) },
		Access: p.access(), Renew: "Run bot page link.", Logger: slog.New(slog.DiscardHandler),
	})
	d.Announce(p.t.Context())
	p.room = d.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
}

// ask sends a request with a cookie, wants a status, and gives the cookie that the
// browser has then.
func (p *porch) ask(in []*http.Cookie, want int) []*http.Cookie {
	p.t.Helper()
	w := doortest.Ask(p.room, "GET", "/waiting", in)
	if w.Code != want {
		p.t.Errorf("at %s: status %d, want %d: %s", p.now.Format(time.DateTime), w.Code, want, w.Body)
	}
	if got := w.Result().Cookies(); len(got) > 0 {
		return got
	}
	return in
}

func same(a, b []*http.Cookie) bool { return a[0].Value == b[0].Value }

// A browser that was let in stays so over restarts, for 30 days; the notes hold neither
// its cookie nor the key.
func TestAccessSurvivesARestart(t *testing.T) {
	p := newPorch(t)
	in := doortest.Enter(t, p.room, p.printed)
	p.start()
	in = p.ask(in, http.StatusTeapot)
	noted, _ := p.notes.Noted(t.Context(), "")
	id, secret, _ := strings.Cut(in[0].Value, ".")
	_, key, _ := strings.Cut(p.printed[0], "key=")
	for _, word := range []string{id, secret, key} {
		if strings.Contains(string(noted), word) {
			t.Error("the notes hold more than hashes")
		}
	}
	for range 30*24 - 1 {
		p.now = p.now.Add(time.Hour)
		in = p.ask(in, http.StatusTeapot)
	}
	p.now = p.now.Add(time.Hour)
	p.ask(in, http.StatusForbidden)
}

// A link lives for ten minutes, and one that was used prints no other.
func TestOperatorsLink(t *testing.T) {
	p := newPorch(t)
	p.now = p.now.Add(LinkLife)
	_, target, _ := strings.Cut(p.printed[0], ":8484")
	w := doortest.Ask(p.room, "GET", target, nil)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "Run bot page link.") || !strings.Contains(w.Body.String(), "A new link is needed") {
		t.Errorf("an old link: status %d: %s", w.Code, w.Body)
	}
	p.start()
	p.start()
	for _, line := range p.printed[1:] { // of two links each opens once
		doortest.Enter(t, p.room, []string{line})
	}
	if len(p.printed) != 3 {
		t.Errorf("printed %q", p.printed)
	}
}

// The cookie is replaced each hour of use. A replaced one that is used ends the session
// for whoever has it and for whoever has the new one.
func TestReplacedCookieEndsTheSession(t *testing.T) {
	p := newPorch(t)
	first := doortest.Enter(t, p.room, p.printed)
	if got := p.ask(first, http.StatusTeapot); !same(got, first) {
		t.Error("the cookie is replaced at once")
	}
	p.now = p.now.Add(time.Hour)
	second := p.ask(first, http.StatusTeapot)
	if same(second, first) {
		t.Fatal("the cookie is not replaced after an hour")
	}
	p.ask(first, http.StatusTeapot) // another tab's, on its way
	p.ask(second, http.StatusTeapot)
	p.now = p.now.Add(onTheWay)
	p.ask(first, http.StatusForbidden)
	p.ask(second, http.StatusForbidden)

	other := doortest.Enter(t, p.room, again(p))
	p.ask([]*http.Cookie{{Name: "nod-8484", Value: strings.Split(other[0].Value, ".")[0] + ".GUESSED"}}, http.StatusForbidden)
	p.ask(other, http.StatusForbidden)
}

// again gives a further link.
func again(p *porch) []string {
	p.start()
	return p.printed
}

// A browser that did not get the answer with its new cookie goes on with the old one.
func TestLostReplacement(t *testing.T) {
	p := newPorch(t)
	first := doortest.Enter(t, p.room, p.printed)
	p.ask(first, http.StatusTeapot)
	p.now = p.now.Add(time.Hour)
	p.ask(first, http.StatusTeapot)
	p.now = p.now.Add(time.Minute)
	third := p.ask(first, http.StatusTeapot)
	p.now = p.now.Add(time.Minute)
	p.ask(third, http.StatusTeapot)
	p.ask(first, http.StatusForbidden)
}

// Revoke ends each browser's access, and the links.
func TestRevoke(t *testing.T) {
	p := newPorch(t)
	in := doortest.Enter(t, p.room, p.printed)
	doortest.Enter(t, p.room, again(p))
	p.start()
	if n, err := p.access().Revoke(t.Context()); n != 2 || err != nil {
		t.Errorf("revoked %d, %v", n, err)
	}
	p.ask(in, http.StatusForbidden)
	_, target, _ := strings.Cut(p.printed[len(p.printed)-1], ":8484")
	if w := doortest.Ask(p.room, "GET", target, nil); w.Code != http.StatusForbidden {
		t.Errorf("a link that was revoked: status %d", w.Code)
	}
}

// silent is a store that does not answer.
type silent struct{}

var errSilent = errors.New("away")

func (silent) Noted(context.Context, string) ([]byte, error) { return nil, errSilent }

func (silent) Swap(context.Context, string, []byte, []byte) (bool, error) { return false, errSilent }

// While the store does not answer, nobody is let in.
func TestStoreAway(t *testing.T) {
	p := newPorch(t)
	in := doortest.Enter(t, p.room, p.printed)
	notes := p.notes
	p.notes = silent{}
	p.start()
	p.ask(in, http.StatusServiceUnavailable)
	p.notes = notes
	p.start()
	p.ask(in, http.StatusTeapot)
}
