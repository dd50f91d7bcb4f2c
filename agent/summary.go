package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"nod/agent/speak"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// What a trim leaves out is not lost at once. With [Agent.Summary] the model
// writes down what it said, each time on top of what it wrote before; that is
// kept in the log with the trim. And a thread that starts afresh after a
// silence keeps a recap, made without the model, that a word brings back. Both
// are shown as data: what was trusted no more in its turn is not trusted now.

// Summarise has the model sum up the turns that Cut leaves out, and records
// [Agent.Summarised] of its words; of no words when the call fails.
type Summarise struct {
	Cut     memory.Trimmed
	By      chat.UserID // who opened the turn
	Request llm.Request
}

func (Summarise) action() {}

// shares of the budget. A summary counts in the prompt from then on, so it has
// to fit into what a trim sets free.
const (
	summaryShare  = 4 // one in so many tokens; a byte counts as a token
	leastSummary  = 400
	mostSummary   = 6 << 10
	recapTurns    = 3
	recapQuestion = 200 // bytes of each
	recapAnswer   = 300
)

func (a *Agent) summaryBytes() int {
	return min(mostSummary, max(leastSummary, a.Budget/summaryShare))
}

// summarise asks for a summary when the trim leaves out turns that were shown.
func (d *decision) summarise(before []memory.Body) Action {
	if !d.a.Summary || len(before) == 0 {
		return nil
	}
	cut, ok := before[0].(memory.Trimmed)
	if !ok || cut.Before <= d.s.trim.Before {
		return nil
	}
	gone := d.transcript(cut.Before, 3*d.a.Budget)
	if gone == "" {
		return nil
	}
	text := fmt.Sprintf(textSummarise, d.a.summaryBytes()/6)
	if d.s.trim.Summary != "" {
		text += "\n\nThe summary so far:\n" + speak.Fence(d.s.trim.Summary)
	}
	text += "\n\nWhat is left out now:\n" + speak.Fence(gone)
	return Summarise{Cut: cut, By: d.s.open.requester.ID, Request: llm.Request{Messages: []llm.Message{
		{Role: llm.System, Text: textSummariser}, {Role: llm.User, Text: text},
	}}}
}

// transcript writes out the turns before a cut, in about so many bytes.
func (d *decision) transcript(before uint64, most int) string {
	var lines []string
	s := d.s
	for _, parts := range s.talk(s.trim) {
		if parts[0].id < before && parts[len(parts)-1].turn != s.open {
			lines = append(lines, told(d.exchange(parts, s.trim))...)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	each := max(minTold, most/len(lines))
	for i, l := range lines {
		lines[i] = speak.Clip(l, each)
	}
	return strings.Join(lines, "\n")
}

// minTold is what is told of each line at the least, in bytes.
const minTold = 64

func told(items []speak.Item) []string {
	var out []string
	for _, it := range items {
		switch {
		case it.Step != nil:
			for i, c := range it.Step.Calls {
				out = append(out, fmt.Sprintf("(called %s %s: %s)", c.Tool, c.Args, it.Step.Results[i]))
			}
		case it.Answer != "":
			out = append(out, "Answer: "+it.Answer)
		default:
			out = append(out, it.Said)
		}
	}
	return out
}

// Summarised is the entry for a summary that the model wrote. Without words the
// older summary stays.
func (a *Agent) Summarised(log *Log, act Summarise, r llm.Response) memory.Trimmed {
	cut := act.Cut
	log.state.renew(&cut)
	cut.Usage = r.Usage
	text := strings.TrimSpace(a.Protocol.Read(nil, r).Answer)
	if text == "" {
		return cut
	}
	cut.Summary = speak.Clip(text, a.summaryBytes())
	d := decision{a: a, s: log.state, log: log}
	d.takesOver(&cut, cut.Before)
	return cut
}

// recap is what a thread was about, in one paragraph.
func (s *state) recap() string {
	var out []string
	if s.trim.Summary != "" {
		out = append(out, speak.Clip(oneLine(s.trim.Summary), recapTurns*recapAnswer))
	}
	talk := s.talk(s.trim)
	for _, p := range slices.Concat(talk[max(0, len(talk)-recapTurns):]...) {
		if msgs := p.said(); len(msgs) > 0 {
			out = append(out, fmt.Sprintf("%s asked “%s”", msgs[0].From.Display(), speak.Clip(oneLine(msgs[0].Text), recapQuestion)))
		}
		if answer := p.answer(); answer != "" && p.upTo == nil {
			out = append(out, fmt.Sprintf("I answered “%s”", speak.Clip(oneLine(answer), recapAnswer)))
		}
	}
	return strings.Join(out, "; ")
}

func oneLine(text string) string {
	if !strings.ContainsFunc(text, unicode.IsSpace) { // as most names
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// afresh is the cut that lets a thread start afresh with the message.
func (d *decision) afresh(m *message) memory.Trimmed {
	cut := memory.Trimmed{Before: since(m.seq, d.s.asides), Horizon: d.s.horizon, Off: d.s.offList(), Recap: d.s.recap()}
	d.s.folk(&cut)
	if cut.Recap == "" {
		cut.Recap, cut.Outside, cut.Since = d.s.trim.Recap, d.s.trim.Outside, d.s.trim.Since
		return cut
	}
	d.takesOver(&cut, m.seq)
	return cut
}

// carry lets a cut keep what stands for still older turns.
func (s *state) carry(cut *memory.Trimmed) {
	cut.Horizon = s.horizon
	s.folk(cut)
	cut.Summary, cut.Recap, cut.Recalled, cut.Outside, cut.Since = s.trim.Summary, s.trim.Recap, s.recalled, s.trim.Outside, s.trim.Since
	s.outlive(cut)
}

// folk lets a cut keep who is here, and what they settled.
func (s *state) folk(cut *memory.Trimmed) {
	cut.People, cut.Callers = slices.Sorted(maps.Keys(s.people)), s.callers
	cut.Grants = s.carried()
	cut.Muted, cut.Asks, cut.Heard = s.muted, s.asks, s.heard
}

// Renewed gives what goes before the entry of a call of the model as it has to be by
// now: while the model was at work people may have revoked, switched or dropped
// something, and a cut that was made before must not bring it back.
func (a *Agent) Renewed(log *Log, before []memory.Body) []memory.Body {
	out := slices.Clone(before)
	for i, b := range out {
		if cut, ok := b.(memory.Trimmed); ok {
			log.state.renew(&cut)
			out[i] = cut
		}
	}
	return out
}

func (s *state) renew(cut *memory.Trimmed) {
	s.folk(cut)
	cut.Off = s.offList()
	cut.Files = slices.DeleteFunc(slices.Clone(cut.Files), s.isDropped)
	cut.Recalled = cut.Recalled || s.recalled && cut.Recap == s.trim.Recap
}

// left is what stands for the turns that a cut leaves out.
func (s *state) left(cut memory.Trimmed) string {
	if cut.Before == 0 {
		return ""
	}
	text := textLeftOut
	switch {
	case cut.Recap != "" && s.recalled:
		text = textRecalled + "\n" + speak.Fence(cut.Recap)
	case cut.Recap != "":
		text = textSetAside
	}
	if cut.Summary != "" {
		text += "\n" + textSummary + "\n" + speak.Fence(cut.Summary)
	}
	if len(cut.Files) > 0 {
		text += "\nFiles from then that can still be read: " + strings.Join(fileNames(cut.Files), ", ") + "."
	}
	return text
}

func fileNames(files []chat.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// takesOver notes what of the turns before a cut came from outside, which is now
// in a summary of them, or in a recap.
func (d *decision) takesOver(cut *memory.Trimmed, before uint64) {
	held := d.s.trim
	taint := memory.Taint{Source: held.Outside, Since: held.Since}
	for _, t := range d.s.shown(held) {
		if t.id < before {
			taint = first(taint, d.own(t, nil))
		}
	}
	if taint.Source != "" {
		cut.Outside, cut.Since = taint.Source, taint.Since
	}
}
