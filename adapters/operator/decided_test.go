package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/doortest"
	"nod/memory"
)

// decide writes a thread in which an approval was asked for and decided.
func (o *office) decide(n int, d memory.Decided, more ...memory.Body) chat.ThreadID {
	o.t.Helper()
	thread := o.ask(n)
	d.Call = "1-1-1"
	o.write(thread, "and so", append([]memory.Body{d}, more...)...)
	return thread
}

// directory is a guide with the names of a test.
type directory map[string]string

func (d directory) Named(_ context.Context, rule string) string { return d[rule] }

func (d directory) PlaceName(_ context.Context, t chat.ThreadID) string { return d[t.Channel] }

func (d directory) Link(_ context.Context, _ chat.ThreadID, ref chat.MessageRef) string {
	return "https://w.slack.com/" + ref.Channel + "/" + ref.ID
}

var names = directory{"user:U9": "ben", "user:U1": "ada", "group:S012": "@ops", "C1": "#general", "C2": "#random"}

func guided(o *Options) { o.Guides = map[string]Guide{"slack": names} }

// Who decided what, when and why, and what came of it, the newest first.
func TestDecided(t *testing.T) {
	o := openOffice(t, func(o *Options) { guided(o); o.Texts = true })
	holds(t, o.get("/decided"), "Nothing was decided")
	o.decide(1, memory.Decided{Outcome: chat.Approved, By: []chat.User{{ID: "U9"}}}, memory.Result{Call: "1-1-1", Tool: "deploy", State: chat.CallFailed})
	second := o.decide(2, memory.Decided{Outcome: chat.Denied, By: []chat.User{{ID: "U9"}}, Reason: "not on Friday with hunter2"})
	page := o.get("/decided")
	holds(t, page, "Approved", "then failed", "deploy", "abababababab", "ben", "ada", "2 of @ops", "#general", "slack/C1/1", "Denied", "not on Friday with ***", " UTC")
	if strings.Index(page, "Denied") > strings.LastIndex(page, "then failed") {
		t.Error("the newest is not first")
	}
	for query, want := range map[string]int{"": 2, "?state=Denied": 1, "?person=BEN": 2, "?person=U9": 2, "?person=cid": 0, "?tool=dep": 2, "?tool=x": 0, "?platform=discord": 0} {
		if n := strings.Count(o.get("/decided"+query), `data-kind="decision"`); n != want {
			t.Errorf("/decided%s shows %d decisions, want %d", query, n, want)
		}
	}
	o.write(second, "forget", memory.Forgot{By: chat.User{ID: "U1"}, Before: 99})
	if err := o.store.Unname(t.Context(), "slack:U9"); err != nil {
		t.Fatal(err)
	}
	o.page.met.Take("U9")
	if page := o.get("/decided"); strings.Contains(page, "ben") || strings.Contains(page, "Friday") {
		t.Error("a person whose key is gone is named")
	}
	quiet := openOffice(t, nil)
	quiet.decide(1, memory.Decided{Outcome: chat.Denied, By: []chat.User{{ID: "U9"}}, Reason: "not on Friday"})
	if page := quiet.get("/decided"); strings.Contains(page, "Friday") || !strings.Contains(page, "(13 characters)") {
		t.Error("a page without texts shows a reason")
	}
}

// Decisions come a page at a time, and a poll reads the lines that are new.
func TestDecidedReadsOnce(t *testing.T) {
	o, c := openCounted(t)
	for n := range pageSize + 2 {
		o.decide(n, memory.Decided{Outcome: chat.Approved, By: []chat.User{{ID: "U9"}}})
	}
	first := o.get("/decided?tool=deploy")
	holds(t, first, `href="/decided?page=1&amp;tool=deploy"`)
	if n := strings.Count(first, `data-kind="decision"`); n != pageSize {
		t.Errorf("%d decisions on a page", n)
	}
	if n := strings.Count(o.get("/decided?tool=deploy&page=1"), `data-kind="decision"`); n != 2 {
		t.Errorf("%d decisions on the second page", n)
	}
	*c = counted{Store: c.Store}
	o.get("/decided")
	o.decide(99, memory.Decided{Outcome: chat.Approved})
	holds(t, o.get("/decided"), "slack/C49/99")
	if c.lines == 0 || c.lines > 4 {
		t.Errorf("two polls read %d lines", c.lines)
	}
}

// The page says how far the log is known to be whole, and exports it if it is.
func TestVerified(t *testing.T) {
	at, signed := time.Time{}, false
	var broken error
	o := openOffice(t, func(o *Options) {
		o.Audit = Audit{
			Checkpoint: func(context.Context) (time.Time, bool, error) { return at, signed, nil },
			Verify:     func(context.Context) (string, bool, error) { return "whole: 7 lines", broken == nil, nil },
			Export: func(_ context.Context, w io.Writer) error {
				if broken == nil {
					_, _ = fmt.Fprintln(w, `{"event":"header"}`)
				}
				return broken
			},
		}
	})
	holds(t, o.get("/decided"), "No checkpoint is signed yet", `data-state="unsound"`)
	at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	holds(t, o.get("/decided"), "not signed with the key", `data-state="unsound"`)
	signed = true
	holds(t, o.get("/decided"), "of 2026-03-04 05:06:07 UTC", `data-state="sound"`, `href="/decided/export"`)
	holds(t, o.get("/decided?check=1"), "whole: 7 lines", `data-state="sound"`)
	r := doortest.Ask(o.web, "GET", "/decided/export", o.in)
	if r.Code != http.StatusOK || r.Body.String() != "{\"event\":\"header\"}\n" || !strings.Contains(r.Header().Get("Content-Disposition"), "audit.jsonl") {
		t.Errorf("the export: status %d, %v, %s", r.Code, r.Header(), r.Body)
	}
	broken = errors.New("not whole")
	holds(t, o.get("/decided?check=1"), `data-state="unsound"`)
	if r := doortest.Ask(o.web, "GET", "/decided/export", o.in); r.Code != http.StatusConflict || r.Header().Get("Content-Disposition") != "" {
		t.Errorf("the export of a damaged log: status %d, %s", r.Code, r.Body)
	}
}
