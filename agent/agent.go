// Package agent decides. Given a thread's log it says what to do next
// ([Agent.Next]), what the model is shown ([Agent.Prompt]) and what people are
// shown ([Agent.Steps], [Agent.Approval]), and nothing else: it does no I/O,
// has no clock and keeps no state, so that a crash loses nothing and every
// decision can be tested by writing down a log.
//
// agent/run performs what Next says. How models speak is package
// agent/speak; a new rule for tools or approvals belongs in fold.go and next.go.
package agent

import (
	"time"

	"nod/agent/speak"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// Agent is the configuration of all decisions. It is read-only once made.
type Agent struct {
	Instructions string
	Examples     []speak.Example
	Tools        []Tool
	Protocol     speak.Protocol
	Strategy     Strategy                         // of turns that do not choose another; "" is Straight
	Retries      int                              // further tries of Reflexion
	Prices       *Prices                          // nil: no cost is shown
	Model        string                           // its name, to be noted with what it did
	MaxSteps     int                              // model calls of one turn that may use tools
	Budget       int                              // tokens of one prompt, tool definitions included; 0: no limit
	IdleReset    time.Duration                    // 0: never
	Zone         *time.Location                   // of "today is"; nil: where the person is
	Zones        func(name string) *time.Location // of [chat.User.Zone]; nil, or nil of it: UTC
	Count        func(string) int
	Blind        bool   // the model takes no images: it is told what was attached
	Taint        bool   // see taint.go
	Key          []byte // of the digests that stand in logs and on cards
	Summary      bool   // what is trimmed is summarised by the model

	// Calling says, for `help`, how people call the bot on a platform and stop it
	// there; nil, or "" of it: help says nothing of that.
	Calling func(platform string) string
}

// Risk says what has to happen before a tool runs.
type Risk string

// The risks. Anything else counts as Never.
const (
	Auto  Risk = "auto"
	Ask   Risk = "ask"
	Never Risk = "never"
)

// Tool is a tool as decisions see it.
type Tool struct {
	llm.Tool
	Schema   *args.Schema // of Parameters; nil accepts any object
	Risk     Risk
	ReadOnly bool     // it changes nothing, and so may run again after a crash
	Outside  bool     // what it gives back was written by strangers
	Address  string   // the parameter that names the page that is fetched; see sends.go
	Sends    []string // the parameters whose values go to a place outside; see sends.go
	For      []string // who may ask for it; none: everyone. See entitled.go
	Lists    bool     // it gives back what a search found, a line with its address each
	// Definition is what else says what the tool does, beside what the model reads
	// of it: approvals are bound to it.
	Definition string
	// Unaccepted says that a stranger described it, and that nobody accepted that.
	Unaccepted bool
	Reads      bool          // it reads artifacts, and is of no use where there are none
	Timeout    time.Duration // how long one call may take; 0: a minute
	Advances   bool          // the same call gives more each time, so that repeating it makes sense
	Rules      memory.Rules  // who approves, when Risk is Ask
	Preview    bool          // a program says before the call what it would do; see preview.go
	// PreviewRequired says that the call may not be approved without that.
	PreviewRequired bool
}

// within is how long a call may take at the most.
func (t Tool) within() time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	return time.Minute
}

// Within is how long a call of a tool may take at the most.
func (a *Agent) Within(name string) time.Duration {
	tool, _ := a.tool(name)
	return tool.within()
}

// harmless says whether a call just runs and changes nothing.
func (t Tool) harmless() bool { return t.ReadOnly && t.Risk == Auto }

func (a *Agent) tool(name string) (Tool, bool) {
	for _, t := range a.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}
