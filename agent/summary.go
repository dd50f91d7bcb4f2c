package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"nod/agent/speak"
	"nod/agent/thread"
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
	if !ok || cut.Before <= d.s.Trim.Before {
		return nil
	}
	gone := d.transcript(cut.Before, 3*d.a.Budget)
	if gone == "" {
		return nil
	}
	text := fmt.Sprintf(textSummarise, d.a.summaryBytes()/6)
	if d.s.Trim.Summary != "" {
		text += "\n\nThe summary so far:\n" + speak.Fence(d.s.Trim.Summary)
	}
	text += "\n\nWhat is left out now:\n" + speak.Fence(gone)
	return Summarise{Cut: cut, By: d.s.Open.Requester.ID, Request: llm.Request{Messages: []llm.Message{
		{Role: llm.System, Text: textSummariser}, {Role: llm.User, Text: text},
	}}}
}

// transcript writes out the turns before a cut, in about so many bytes.
func (d *decision) transcript(before uint64, most int) string {
	var lines []string
	s := d.s
	for _, parts := range s.Talk(s.Trim) {
		if parts[0].ID < before && parts[len(parts)-1].Turn != s.Open {
			lines = append(lines, told(d.exchange(parts, s.Trim))...)
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
	log.state.Renew(&cut)
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

// recapText is what a thread was about, in one paragraph.
func recapText(s *thread.Thread) string {
	var out []string
	if s.Trim.Summary != "" {
		out = append(out, speak.Clip(oneLine(s.Trim.Summary), recapTurns*recapAnswer))
	}
	talk := s.Talk(s.Trim)
	for _, p := range slices.Concat(talk[max(0, len(talk)-recapTurns):]...) {
		if msgs := p.Said(); len(msgs) > 0 {
			out = append(out, fmt.Sprintf("%s asked “%s”", msgs[0].From.Display(), speak.Clip(oneLine(msgs[0].Text), recapQuestion)))
		}
		if answer := p.Answer(); answer != "" && p.UpTo == nil {
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
func (d *decision) afresh(m *thread.Message) memory.Trimmed {
	cut := memory.Trimmed{Before: since(m.Seq, d.s.Inbox.Asides), Horizon: d.s.Span.Horizon, Off: d.s.OffList(), Recap: recapText(d.s)}
	d.s.KeepFolk(&cut)
	if cut.Recap == "" {
		cut.Recap, cut.Outside, cut.Since = d.s.Trim.Recap, d.s.Trim.Outside, d.s.Trim.Since
		return cut
	}
	d.takesOver(&cut, m.Seq)
	return cut
}

// Renewed gives what goes before the entry of a call of the model as it has to be by
// now: while the model was at work people may have revoked, switched or dropped
// something, and a cut that was made before must not bring it back.
func (a *Agent) Renewed(log *Log, before []memory.Body) []memory.Body {
	out := slices.Clone(before)
	for i, b := range out {
		if cut, ok := b.(memory.Trimmed); ok {
			log.state.Renew(&cut)
			out[i] = cut
		}
	}
	return out
}

// leftText is what stands for the turns that a cut leaves out.
func leftText(s *thread.Thread, cut memory.Trimmed) string {
	if cut.Before == 0 {
		return ""
	}
	text := textLeftOut
	switch {
	case cut.Recap != "" && s.Recalled:
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
	held := d.s.Trim
	taint := memory.Taint{Source: held.Outside, Since: held.Since}
	for _, t := range d.s.Shown(held) {
		if t.ID < before {
			taint = first(taint, d.own(t, nil))
		}
	}
	if taint.Source != "" {
		cut.Outside, cut.Since = taint.Source, taint.Since
	}
}
