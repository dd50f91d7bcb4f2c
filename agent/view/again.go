package view

import (
	"slices"

	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Again is a call in the form where a person edits it and runs it again; why says why that
// can't be.
func Again(tools policy.Set, entries []memory.Entry, call string) (v chat.Again, why string) {
	s := thread.Read(entries)
	c := s.Calls[call]
	if why := BarsAgain(s, c); why != "" {
		return v, why
	}
	tool, known := tools.Find(c.Tool)
	if !known || s.IsOff(c.Tool) || tool.Risk != policy.Auto && tool.Risk != policy.Ask {
		return v, "its tool can't be used here any more"
	}
	v = chat.Again{Call: c.ID, Tool: c.Tool, Args: c.Shown(), Parameters: string(tool.Parameters)}
	v.Number = slices.Index(c.Turn.Calls(), c) + 1
	return v, ""
}

// Reruns makes the order of such a form; why says why there is none, as far as the log
// tells.
func Reruns(tools policy.Set, entries []memory.Entry, c chat.Change) (b memory.Order, why string) {
	v, why := Again(tools, entries, c.Call)
	switch {
	case c.By.Bot:
		return b, "a bot runs nothing"
	case why != "":
		return b, why
	}
	tool, _ := tools.Find(v.Tool)
	if why, _ := tool.Unfit(c.Args); why != "" {
		return b, why
	}
	return memory.Order{By: c.By, Tool: v.Tool, Args: c.Args, Of: c.Call}, ""
}
