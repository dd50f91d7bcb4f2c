package phrase

import (
	"fmt"
	"strings"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/chat"
)

// Fate is the outcome of an approved call, in a few words.
func Fate(c *thread.Call) string {
	r := c.Result
	if c.Run.Late != nil {
		r = c.Run.Late
	}
	switch {
	case r == nil:
		return "running"
	case r.State == chat.CallDone:
		return "done in " + Seconds(r.Took)
	case r.State == chat.CallDenied:
		return speak.Clip(OneLine(firstLine(r.Text)), mostFate)
	case r.State == chat.CallFailed:
		return "failed: " + speak.Clip(OneLine(firstLine(r.Text)), mostFate)
	}
	return string(r.State)
}

// mostFate is how much of a failure a card's first line says, in bytes.
const mostFate = 100

// Bounds of what is named in words: how many calls, and how long the arguments are.
const (
	mostNamed   = 8
	mostOfNamed = 200
)

// ShortArgs is the arguments of a call, as they stand in a sentence.
func ShortArgs(c *thread.Call) string { return speak.Clip(chat.Exact(c.Shown()), mostOfNamed) }

// WhatRan lists calls with their outcomes.
func WhatRan(calls []*thread.Call) string {
	var out []string
	for i, c := range calls {
		if i == mostNamed {
			out = append(out, fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		what := "outcome unknown"
		if c.Result != nil {
			what = Fate(c)
		}
		out = append(out, Brief(c.Tool)+" "+ShortArgs(c)+" ("+what+")")
	}
	return strings.Join(out, "; ")
}
