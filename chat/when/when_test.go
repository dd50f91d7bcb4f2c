package when

import (
	"errors"
	"testing"
	"time"
)

// now is Thursday 26 November 2026, 10:00 in Berlin.
var now = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, next string }{
		{"every weekday 09:00: what is new?", "every weekday 09:00 (Europe/Berlin)", "Fri 27 Nov 09:00"},
		{"Every Day 10:01: x", "every day 10:01 (Europe/Berlin)", "Thu 26 Nov 10:01"},
		{"every fri,Mon 8:30: x", "every Mon,Fri 08:30 (Europe/Berlin)", "Fri 27 Nov 08:30"},
		{"every friday 8:30: x", "every Fri 08:30 (Europe/Berlin)", "Fri 27 Nov 08:30"},
		{"every 2h: x", "every 2h", "Thu 26 Nov 12:00"},
		{"in 90m: x", "Thu 26 Nov 11:30 (Europe/Berlin)", "Thu 26 Nov 11:30"},
		{"remind in 1d: x", "Fri 27 Nov 10:00 (Europe/Berlin)", "Fri 27 Nov 10:00"},
		{"at 9:00: x", "Fri 27 Nov 09:00 (Europe/Berlin)", "Fri 27 Nov 09:00"},
		{"at 11:00: x", "Thu 26 Nov 11:00 (Europe/Berlin)", "Thu 26 Nov 11:00"},
		{"today 23:59: x: y", "Thu 26 Nov 23:59 (Europe/Berlin)", "Thu 26 Nov 23:59"},
		{"tomorrow 00:00: x", "Fri 27 Nov 00:00 (Europe/Berlin)", "Fri 27 Nov 00:00"},
		{"thursday 09:00: x", "Thu 3 Dec 09:00 (Europe/Berlin)", "Thu 3 Dec 09:00"},
		{"2026-12-24 18:00: x\ny", "Thu 24 Dec 18:00 (Europe/Berlin)", "Thu 24 Dec 18:00"},
	} {
		p, ok, err := Parse(c.text, "Europe/Berlin", now)
		if !ok || err != nil {
			t.Errorf("%q: %v, %v", c.text, ok, err)
			continue
		}
		next := p.Next(now).In(p.location()).Format("Mon 2 Jan 15:04")
		if p.String() != c.want || next != c.next || p.Text == "" {
			t.Errorf("%q means %q, next %q, text %q; want %q, next %q", c.text, p, next, p.Text, c.want, c.next)
		}
	}
}

func TestParseNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "hello", "in short: why?", "at last: it works", "every time: it fails", "today: all is well", "monday: off", "friday is 13:00: so",
		"every day: I ask", "in 5m", "every weekday 09:00", "every weekday 09:00:", "tomorrow 09:00:x", "remind me: x", "sunshine 09:00: x", "every in 5m: x",
	} {
		if p, ok, err := Parse(text, "UTC", now); ok {
			t.Errorf("%q is taken for %q, %v", text, p, err)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"in 5s: x": errSpan, "in 5weeks: x": errSpan, "in 0m: x": errSpan, "in 9000h: x": errFar, "in 400d: x": errFar,
		"at 25:00: x": errHour, "at 9:5: x": errHour, "every day 24:00: x": errHour, "tomorrow 12:60: x": errHour,
		"2026-02-31 09:00: x": errDate, "2026-13-01 09:00: x": errDate, "2026-11-26 09:59: x": errPast, "today 10:00: x": errPast, "2028-01-01 09:00: x": errFar,
	} {
		if _, ok, err := Parse(text, "Europe/Berlin", now); !ok || !errors.Is(err, want) {
			t.Errorf("%q: %v, %v; want %v", text, ok, err, want)
		}
	}
	if _, ok, err := Parse("in 5m: x", "Europe/Atlantis", now); !ok || !errors.Is(err, errZone) {
		t.Errorf("an unknown zone: %v, %v", ok, err)
	}
}

// In Berlin 02:30 does not exist on 29 March 2026, and comes twice on 25 October.
func TestSummerTime(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"} {
		for _, words := range []string{"every day 02:30: x", "every day 01:45: x", "every day 00:00: x", "every day 23:59: x"} {
			p, _, err := Parse(words, zone, now)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for range 365 {
				next := p.Next(at)
				if d := next.Sub(at); d <= 0 || d > 26*time.Hour {
					t.Fatalf("%s in %s: after %v comes %v", words, zone, at, next)
				}
				at = next
			}
		}
	}
	p, _, err := Parse("every day 02:30: x", "Europe/Berlin", now)
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[string]string{
		"2026-03-28T12:00:00Z": "2026-03-29T01:00:00Z", // 03:00 summer time
		"2026-03-29T01:00:00Z": "2026-03-30T00:30:00Z",
		"2026-10-24T12:00:00Z": "2026-10-25T00:30:00Z", // the first 02:30
		"2026-10-25T00:30:00Z": "2026-10-26T01:30:00Z",
	} {
		from, err := time.Parse(time.RFC3339, after)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Next(from).UTC().Format(time.RFC3339); got != want {
			t.Errorf("after %s comes %s, want %s", after, got, want)
		}
	}
}
