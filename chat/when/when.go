// Package when reads the words in which people say a time, such as `every weekday 09:00`,
// and computes the times that they mean. It knows no clock: each function is told the time.
package when

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Time is the meaning of the words: once At; or from At on at a distance of Every; or on
// Days of the week at Hour and Minute.
type Time struct {
	At     time.Time      `json:"at,omitzero"`
	Every  time.Duration  `json:"every,omitempty"`
	Days   []time.Weekday `json:"days,omitempty"` // from Monday on
	Hour   int            `json:"hour,omitempty"`
	Minute int            `json:"minute,omitempty"`
	Zone   string         `json:"zone,omitempty"` // of the IANA database; empty: UTC
}

// Plan is a text that a person plans for a time: to be asked then, or with Remind to be
// posted.
type Plan struct {
	Time
	Remind bool   `json:"remind,omitempty"`
	Text   string `json:"text"`
}

// Mistakes in the words. Each ends with an example.
var (
	errSpan = errors.New("a span is in minutes, hours or days, as in 30m, 2h or 1d")
	errHour = errors.New("the clock has 24 hours, as in 09:30")
	errDate = errors.New("there is no such day; write one as in 2026-11-30")
	errPast = errors.New("that is in the past; write a later time, as in tomorrow 09:00")
	errFar  = errors.New("at most a year ahead, as in 2026-11-30 09:00")
	errZone = errors.New("there is no such time zone; one is written as in Europe/Berlin")
)

const farthest = 366 * 24 * time.Hour

var (
	head  = regexp.MustCompile(`(?is)^\s*(remind\s+)?(in|at|every|today|tomorrow|[a-z]+day|mon|tue|wed|thu|fri|sat|sun|\d{4}-\d\d?-\d\d?)\s+([a-z,]*day|[a-z]{3}(?:,[a-z]{3,9})*|\d+[a-z]+)?\s*(\d+:\d+)?\s*:\s+(\S.*?)\s*$`)
	span  = regexp.MustCompile(`^(\d{1,6})(s|m|h|d)$`)
	units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	week  = []time.Weekday{1, 2, 3, 4, 5, 6, 0}
)

// Parse reads a plan, as it is given at a time in a zone. ok is false for a text that
// plans nothing; err says why a plan can't be followed.
func Parse(text, zone string, now time.Time) (p Plan, ok bool, err error) {
	m := head.FindStringSubmatch(text)
	if m == nil {
		return p, false, nil
	}
	first, second, hour := strings.ToLower(m[2]), strings.ToLower(m[3]), m[4]
	p = Plan{Time{Zone: zone}, m[1] != "", m[5]}
	at, err := time.LoadLocation(zone)
	if err != nil {
		return p, true, errZone
	}
	now = now.In(at)
	switch days, named := daysOf(second); {
	case first == "in" && second != "" && hour == "":
		if err = p.span(second, now); strings.HasSuffix(second, "s") {
			err = errSpan
		}
	case first == "every" && hour == "" && second != "" && second[0] <= '9':
		if err = p.span(second, now); err == nil {
			p.Every = p.At.Sub(now)
		}
	case first == "every" && hour != "" && named:
		p.Days = days
		err = p.clock(hour)
	case hour != "" && second == "" && first != "in" && first != "every":
		return p.once(first, hour, now)
	default:
		return p, false, nil
	}
	return p, true, err
}

// span reads 30m, 2h or 1d from now.
func (t *Time) span(word string, now time.Time) error {
	m := span.FindStringSubmatch(word)
	if m == nil {
		return errSpan
	}
	n, _ := strconv.Atoi(m[1]) // at most six digits
	d := time.Duration(n) * units[m[2]]
	switch {
	case n == 0:
		return errSpan
	case d > farthest:
		return errFar
	}
	t.At = now.Add(d).UTC()
	return nil
}

func (t *Time) clock(word string) error {
	h, m, _ := strings.Cut(word, ":")
	hour, errH := strconv.Atoi(h)
	minute, errM := strconv.Atoi(m)
	if errH != nil || errM != nil || len(m) != 2 || hour > 23 || minute > 59 {
		return errHour
	}
	t.Hour, t.Minute = hour, minute
	return nil
}

// once reads a day, or `at` for the next time that the clock shows it.
func (p Plan) once(word, hour string, now time.Time) (Plan, bool, error) {
	if err := p.clock(hour); err != nil {
		return p, true, err
	}
	day := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, now.Location())
	next := func(from time.Time, step int) time.Time { return at(from.AddDate(0, 0, step), p.Hour, p.Minute) }
	days, named := daysOf(word)
	switch {
	case word == "at":
		if p.At = next(day, 0); !p.At.After(now) {
			p.At = next(day, 1)
		}
	case word == "today":
		p.At = next(day, 0)
	case word == "tomorrow":
		p.At = next(day, 1)
	case named && len(days) == 1:
		step := (int(days[0]) - int(day.Weekday()) + 7) % 7
		if p.At = next(day, step); !p.At.After(now) {
			p.At = next(day, step+7)
		}
	case word[0] <= '9':
		date, err := time.ParseInLocation(time.DateOnly, word, now.Location())
		if err != nil {
			return p, true, errDate
		}
		p.At = at(date, p.Hour, p.Minute)
	default:
		return p, false, nil
	}
	p.At, p.Hour, p.Minute = p.At.UTC(), 0, 0
	switch {
	case !p.At.After(now):
		return p, true, errPast
	case p.At.Sub(now) > farthest:
		return p, true, errFar
	}
	return p, true, nil
}

// daysOf reads day, weekday, or names of days: in full, or their first three letters.
func daysOf(word string) (days []time.Weekday, ok bool) {
	switch word {
	case "day":
		return week, true
	case "weekday":
		return week[:5], true
	}
	for _, name := range strings.Split(word, ",") {
		i := slices.IndexFunc(week, func(d time.Weekday) bool {
			full := strings.ToLower(d.String())
			return name == full || name == full[:3]
		})
		if i < 0 {
			return nil, false
		}
		days = append(days, week[i])
	}
	slices.SortFunc(days, func(a, b time.Weekday) int { return slices.Index(week, a) - slices.Index(week, b) })
	return slices.Compact(days), true
}

// at is a time of a day. If the clock skips it, it is the next minute that exists; if it
// comes twice, the first one.
func at(day time.Time, hour, minute int) time.Time {
	t := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, day.Location())
	if t.Hour() != hour || t.Minute() != minute {
		if start, _ := t.ZoneBounds(); t.Sub(start) < 12*time.Hour && !start.IsZero() { // it is behind the gap
			return start
		}
		_, end := t.ZoneBounds()
		return end
	}
	if start, _ := t.ZoneBounds(); !start.IsZero() {
		_, now := t.Zone()
		_, before := start.Add(-time.Second).Zone()
		if early := t.Add(time.Duration(now-before) * time.Second); early.Before(start) && before > now {
			return early
		}
	}
	return t
}

// Repeats says whether there is more than one time.
func (t Time) Repeats() bool { return t.Every > 0 || len(t.Days) > 0 }

// Next is the first time after another one; zero if there is none.
func (t Time) Next(after time.Time) time.Time {
	switch {
	case t.Every > 0 && after.Before(t.At), !t.Repeats() && after.Before(t.At):
		return t.At
	case t.Every > 0:
		return t.At.Add((after.Sub(t.At)/t.Every + 1) * t.Every)
	case len(t.Days) == 0:
		return time.Time{}
	}
	day := after.In(t.location())
	day = time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, day.Location())
	for step := range 9 { // a week, and a day at either end
		d := day.AddDate(0, 0, step)
		if next := at(d, t.Hour, t.Minute); slices.Contains(t.Days, d.Weekday()) && next.After(after) {
			return next.UTC()
		}
	}
	return time.Time{}
}

func (t Time) location() *time.Location {
	l, err := time.LoadLocation(t.Zone)
	if err != nil {
		return time.UTC
	}
	return l
}

// String is for people, with the zone.
func (t Time) String() string {
	in := " (" + t.location().String() + ")"
	switch {
	case t.Every > 0:
		return "every " + Span(t.Every)
	case len(t.Days) == 0:
		return t.At.In(t.location()).Format("Mon 2 Jan 15:04") + in
	}
	names := "day"
	if slices.Equal(t.Days, week[:5]) {
		names = "weekday"
	} else if len(t.Days) < len(week) {
		short := make([]string, len(t.Days))
		for i, d := range t.Days {
			short[i] = d.String()[:3]
		}
		names = strings.Join(short, ",")
	}
	return "every " + names + time.Date(0, 1, 1, t.Hour, t.Minute, 0, 0, time.UTC).Format(" 15:04") + in
}

// Span writes a duration as people give it.
func Span(d time.Duration) string {
	for _, u := range []string{"d", "h"} {
		if d%units[u] == 0 {
			return strconv.Itoa(int(d/units[u])) + u
		}
	}
	return strconv.Itoa(int(d/time.Minute)) + "m"
}

// Line is for people: the words, and the next time.
func (t Time) Line(now time.Time) string {
	words, form := t.String(), "Mon 2 Jan 15:04"
	switch {
	case len(t.Days) > 0:
		form = "Mon 2 Jan"
	case t.Every > 0:
		words += " (" + t.location().String() + ")"
	default:
		words = "once (" + t.location().String() + ")"
	}
	next := t.Next(now)
	if next.IsZero() { // it has come already
		next = t.At
	}
	return words + ", next " + next.In(t.location()).Format(form)
}

// Clock is a time of it, as people read a clock.
func (t Time) Clock(at time.Time) string { return at.In(t.location()).Format("Mon 15:04") }

// Coming lists the next times, for people.
func (t Time) Coming(now time.Time, most int) (out []string) {
	for range most {
		if now = t.Next(now); now.IsZero() {
			break
		}
		out = append(out, now.In(t.location()).Format("Mon 2 Jan 15:04"))
	}
	return out
}
