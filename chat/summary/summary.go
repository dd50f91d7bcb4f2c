// Package summary gives outcomes in a few words: of a turn's steps,
// for the one line that stays when they are folded away, and of an approval. The
// words are the same wherever people read them; how a name is written so that it
// is no markup is for the adapter.
package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
)

// mostTools is how many tools are named.
const mostTools = 4

// Tools names the tools of a turn, each once, in the order of first use, and how
// often each was used. write makes a name fit to be shown.
func Tools(s *chat.Steps, write func(name string) string) string {
	var names []string
	uses := map[string]int{}
	for _, item := range s.Items {
		for _, c := range item.Calls {
			if uses[c.Tool]++; uses[c.Tool] == 1 {
				names = append(names, c.Tool)
			}
		}
	}
	more := len(names) - mostTools
	names = names[:min(len(names), mostTools)]
	for i, n := range names {
		names[i] = write(n)
		if uses[n] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", names[i], uses[n])
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// Took writes how long something took, 0.1 s at least.
func Took(d time.Duration) string {
	d = max(d, 100*time.Millisecond)
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// SoFar says who approved while others still have to: whom names the people of p.By. It is
// empty where nobody did, and once the approval is decided.
func SoFar(p *chat.Approval, whom string) string {
	if p.Outcome != "" || whom == "" {
		return ""
	}
	return fmt.Sprintf("%d of %d approved: %s", len(p.By), p.Quorum, whom)
}

// State says in a few words how far a call is, and how long it took once it is over.
func State(c chat.ToolCall) (text string, over bool) {
	switch c.State {
	case chat.CallPlanned, chat.CallRunning:
		return string(c.State), false
	case chat.CallAsking:
		return "waits for approval", false
	}
	if c.Took > 0 {
		return string(c.State) + ", " + Took(c.Took), true
	}
	return string(c.State), true
}

// Ending says how a turn ended; "" where it is done, or goes on.
func Ending(s *chat.Steps, write func(text string) string) string {
	if !s.Done || s.Status == "Done" {
		return ""
	}
	return write(s.Status)
}

// Time is how long a turn took; "" where that is not known.
func Time(s *chat.Steps) string {
	if s.Took <= 0 {
		return ""
	}
	return Took(s.Took)
}

// Dotted puts texts on one line, with dots between them.
func Dotted(said ...string) string { return joined(said, " · ") }

// Lines puts each text on a line of its own.
func Lines(said ...string) string { return joined(said, "\n") }

func joined(said []string, by string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(said), func(s string) bool { return s == "" }), by)
}
