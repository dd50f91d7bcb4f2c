package prompt

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/phrase"
	"nod/agent/speak"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// Shares of the budget. A summary is part of the prompt from then on, so it has to fit
// into the room that a trim makes.
const (
	summaryShare  = 4 // one in so many tokens; a byte counts as a token
	leastSummary  = 400
	mostSummary   = 6 << 10
	recapTurns    = 3
	recapQuestion = 200 // bytes of each
	recapAnswer   = 300
)

func (w Writer) summaryBytes() int {
	return min(mostSummary, max(leastSummary, w.Budget/summaryShare))
}

// Summarise is the request for a summary of the turns that a cut leaves out; ok is false
// where none is wanted.
func (w Writer) Summarise(cut memory.Trimmed) (r llm.Request, ok bool) {
	if !w.Summary || cut.Before <= w.Thread.Trim.Before {
		return r, false
	}
	gone := w.transcript(cut.Before, 3*w.Budget)
	if gone == "" {
		return r, false
	}
	text := fmt.Sprintf(textSummarise, w.summaryBytes()/6)
	if w.Thread.Trim.Summary != "" {
		text += "\n\nThe summary so far:\n" + speak.Fence(w.Thread.Trim.Summary)
	}
	text += "\n\nWhat is left out now:\n" + speak.Fence(gone)
	return llm.Request{Messages: []llm.Message{{Role: llm.System, Text: textSummariser}, {Role: llm.User, Text: text}}}, true
}

// transcript writes out the turns before a cut, in about so many bytes.
func (w Writer) transcript(before uint64, most int) string {
	var lines []string
	s := w.Thread
	for _, parts := range s.Talk(s.Trim) {
		if parts[0].ID < before && parts[len(parts)-1].Turn != s.Open {
			lines = append(lines, told(w.exchange(parts, s.Trim))...)
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

// minTold is the least that is told of each line, in bytes.
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

// Summarised is a cut with the summary that the model wrote for it. Without words the
// older summary stays.
func (w Writer) Summarised(cut memory.Trimmed, r llm.Response) memory.Trimmed {
	w.Thread.Renew(&cut)
	cut.Usage = r.Usage
	text := strings.TrimSpace(w.Protocol.Read(nil, r).Answer)
	if text == "" {
		return cut
	}
	cut.Summary = speak.Clip(text, w.summaryBytes())
	w.Taint.TakeOver(&cut, cut.Before)
	return cut
}

// recapText is the topic of a thread, in one paragraph.
func recapText(s *thread.Thread) string {
	var out []string
	if s.Trim.Summary != "" {
		out = append(out, speak.Clip(phrase.OneLine(s.Trim.Summary), recapTurns*recapAnswer))
	}
	talk := s.Talk(s.Trim)
	for _, p := range slices.Concat(talk[max(0, len(talk)-recapTurns):]...) {
		if msgs := p.Said(); len(msgs) > 0 {
			out = append(out, fmt.Sprintf("%s asked “%s”", msgs[0].From.Display(), speak.Clip(phrase.OneLine(msgs[0].Text), recapQuestion)))
		}
		if answer := p.Answer(); answer != "" && p.UpTo == nil {
			out = append(out, fmt.Sprintf("I answered “%s”", speak.Clip(phrase.OneLine(answer), recapAnswer)))
		}
	}
	return strings.Join(out, "; ")
}

// Afresh is the cut that lets a thread start afresh with the message.
func (w Writer) Afresh(m *thread.Message) memory.Trimmed {
	cut := memory.Trimmed{Before: thread.FirstOf(m.Seq, w.Thread.Inbox.Asides), Horizon: w.Thread.Span.Horizon, Off: w.Thread.OffList(), Recap: recapText(w.Thread)}
	w.Thread.KeepFolk(&cut)
	if cut.Recap == "" {
		cut.Recap, cut.Outside, cut.Since = w.Thread.Trim.Recap, w.Thread.Trim.Outside, w.Thread.Trim.Since
		return cut
	}
	w.Taint.TakeOver(&cut, m.Seq)
	return cut
}

// leftText stands for the turns that a cut leaves out.
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
		text += "\nFiles from then that can still be read: " + strings.Join(phrase.FileNames(cut.Files), ", ") + "."
	}
	return text
}
