package incidents

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// teller plays alerts into a log, and says what becomes of each.
type teller struct {
	Rules
	log []memory.Entry
	now time.Time
}

func newTeller() *teller {
	return &teller{
		Rules: Rules{
			Name: "pages", Match: regexp.MustCompile(`FIRING (?P<what>\S+)`), Over: regexp.MustCompile("RESOLVED"), Same: "{what}",
			Quiet: 30 * time.Minute, Late: time.Hour, Most: 2,
		},
		now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC),
	}
}

func (l *teller) add(b memory.Body) {
	l.log = append(l.log, memory.Entry{Seq: uint64(len(l.log) + 1), At: l.now, Body: b})
}

// hears takes an alert that was sent a while ago, and says what it is; "" where it is no
// alert, or nothing comes of it.
func (l *teller) hears(text string, ago time.Duration) memory.AlertAs {
	key, over, ok := l.Incident(Came{Text: text})
	if !ok {
		return ""
	}
	m := memory.Message{Message: chat.Message{Text: text, Sent: l.now.Add(-ago)}, Alert: &memory.Alert{ID: fmt.Sprint(len(l.log)), Incident: key, Resolved: over}}
	l.add(m)
	return l.does()
}

// does the next thing.
func (l *teller) does() memory.AlertAs {
	d, _ := l.Next(l.log, l.now)
	if d == nil {
		return "rests"
	}
	l.add(d.State)
	if d.Put == nil {
		return ""
	}
	return d.Put.Alert.As
}

func TestNext(t *testing.T) {
	t.Parallel()
	l := newTeller()
	for i, c := range []struct {
		after time.Duration
		text  string
		ago   time.Duration
		want  memory.AlertAs
	}{
		{0, "all is well", 0, ""},
		{0, "FIRING A", 0, memory.AlertBegins},
		{time.Minute, "FIRING A", 0, memory.AlertAgain},
		{29 * time.Minute, "FIRING A", 0, memory.AlertAgain},
		{0, "RESOLVED: B", 0, ""}, // which never was
		{0, "FIRING B", 2 * time.Hour, memory.AlertLate},
		{0, "FIRING C", 0, memory.AlertBegins},
		{0, "FIRING D", 0, memory.AlertHeld},
		{0, "FIRING E", 0, memory.AlertHeld},
		{0, "FIRING D", 0, memory.AlertAgain},
		{0, "RESOLVED: E", 0, memory.AlertResolved},
		{0, "RESOLVED: E", 0, ""},                     // it is over already
		{30 * time.Minute, "", 0, memory.AlertBegins}, // D, an hour after A
		{0, "", 0, "rests"},
		{0, "FIRING A", 0, memory.AlertHeld}, // after its quiet time it is a new one
		{30 * time.Minute, "", 0, memory.AlertBegins},
		{0, "", 0, "rests"},
	} {
		l.now = l.now.Add(c.after)
		var got memory.AlertAs
		if c.text == "" {
			got = l.does()
		} else {
			got = l.hears(c.text, c.ago)
		}
		if got != c.want {
			t.Fatalf("%d, %q: %q, want %q", i, c.text, got, c.want)
		}
	}
	if held := Held(l.log); len(held) != 0 {
		t.Errorf("%v wait", held)
	}
}

// A state is bounded, and what waits is not dropped from it.
func TestBounds(t *testing.T) {
	t.Parallel()
	l := newTeller()
	for i := range mostKept + 50 {
		l.hears(fmt.Sprintf("FIRING x%d", i), 2*time.Hour*time.Duration(i%2))
	}
	st, _ := read(l.log)
	if n := len(st.All); n > mostKept+1 || len(Held(l.log)) != (mostKept+50)/2-l.Most {
		t.Errorf("%d incidents are kept, %d wait", n, len(Held(l.log)))
	}
}
