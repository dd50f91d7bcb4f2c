package operator

import (
	"slices"
	"strconv"
	"time"

	"nod/memory"
)

// bar is how long something of a turn took. It ends with the entry that holds it.
type bar struct {
	Kind   string // model, tool, wait, post
	Length string
	X, W   int // in thousandths of the turn
}

// bars gives the bars of a log's entries, by the place in it.
func bars(log []memory.Entry) map[int]bar {
	out := map[int]bar{}
	from := 0
	for i, e := range log {
		switch e.Body.(type) {
		case memory.Opened:
			measure(log[from:i], from, out)
			from = i
		case memory.Ended:
			measure(log[from:i+1], from, out)
			from = i + 1
		}
	}
	measure(log[from:], from, out)
	return out
}

// span is a bar before the turn's length is known.
type span struct {
	kind       string
	begin, end time.Time
}

// measure puts the bars of a turn to its entries, which begin at a place of the log.
func measure(turn []memory.Entry, at int, out map[int]bar) {
	spans := make([]span, len(turn))
	var begin, end time.Time
	waits := map[string]time.Time{}
	for i, e := range turn {
		s := spanOf(turn, i, waits)
		if spans[i] = s; s.kind == "" {
			continue
		}
		if begin.IsZero() || s.begin.Before(begin) {
			begin = s.begin
		}
		if e.At.After(end) {
			end = e.At
		}
	}
	whole := max(1, end.Sub(begin))
	for i, s := range spans {
		if s.kind == "" {
			continue
		}
		x := int(1000 * s.begin.Sub(begin) / whole)
		w := int(1000 * s.end.Sub(s.begin) / whole)
		out[at+i] = bar{s.kind, length(s.end.Sub(s.begin)), min(x, 992), max(w, 8)}
	}
}

// spanOf says what an entry ends. waits are the waits that began before it. A post
// began when the entry before was committed: the log has no other beginning.
func spanOf(turn []memory.Entry, i int, waits map[string]time.Time) span {
	e := turn[i]
	took := func(kind string, d time.Duration) span {
		if d <= 0 {
			return span{}
		}
		return span{kind, e.At.Add(-d), e.At}
	}
	waited := func(name string) span {
		since, ok := waits[name]
		delete(waits, name)
		if !ok {
			return span{}
		}
		return span{"wait", since, e.At}
	}
	switch b := e.Body.(type) {
	case memory.Step:
		return took("model", b.Took)
	case memory.Result:
		return took("tool", b.Took)
	case memory.Previewed:
		return took("tool", b.Took)
	case memory.Asked:
		waits[b.Call] = e.At
	case memory.Decided:
		return waited(b.Call)
	case memory.Question:
		waits["question "+b.ID] = e.At
	case memory.Answered:
		return waited("question " + b.Question)
	case memory.Posted:
		if i > 0 {
			return span{"post", turn[i-1].At, e.At}
		}
	}
	return span{}
}

// length is a length of time in the unit that fits.
func length(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return age(d)
}

// mark puts the bars to the entries of a moment, which begin at a place of the log.
func (m *moment) mark(log []memory.Entry, from int) {
	if len(m.Entries) == 0 {
		return
	}
	// The turn of the first one may begin before it.
	begin := from
	for begin > 0 && from-begin < around && !slices.Contains([]string{"opened", "ended"}, log[begin].Body.Kind()) {
		begin--
	}
	all := bars(log[begin : from+len(m.Entries)])
	for j := range m.Entries {
		if b, ok := all[from-begin+j]; ok {
			m.Entries[j].Bar = &b
		}
	}
}
