// Package policy says of each tool what decisions need to know of it: its risk, who may
// ask for it, who approves it, where it sends values. It judges no call.
package policy

import (
	"slices"
	"strings"
	"time"

	"nod/agent/thread"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

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
	Address  string   // the parameter that names the page that is fetched; see package taint
	Sends    []string // the parameters whose values go to a place outside; see package taint
	// Undeclared says that nobody wrote down which of its parameters these are: the names
	// and values of a call tell more of them.
	Undeclared bool
	For        []string // who may ask for it; none: everyone
	Lists      bool     // it gives back what a search found, a line with its address each
	// Definition says what the tool does, beside the text for the model. Approvals are
	// bound to it.
	Definition string
	// Unaccepted says that a stranger described it, and that nobody accepted that.
	Unaccepted bool
	Server     string        // whose tool it is; "": of no server
	Hidden     bool          // it is in no prompt: the model finds it by search
	Reads      bool          // it reads artifacts, and is of no use where there are none
	Timeout    time.Duration // how long one call may take; 0: a minute
	Advances   bool          // the same call gives more each time, so that repeating it makes sense
	Rules      memory.Rules  // who approves, when Risk is Ask
	OwnTimeout bool          // the timeout of Rules is the tool's own
	Preview    bool          // a program says before the call what it would do
	// PreviewRequired says that the call may not be approved without that.
	PreviewRequired bool
}

// Within is how long a call may take at the most.
func (t Tool) Within() time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	return time.Minute
}

// MaySend says whether values of a call may go to a place outside.
func (t Tool) MaySend() bool { return t.Undeclared || t.Address != "" || len(t.Sends) > 0 }

// Harmless says whether a call just runs and changes nothing.
func (t Tool) Harmless() bool { return t.ReadOnly && t.Risk == Auto }

// Offered says whether the model is shown the tool, in a draft or, as draft 0, in the turn
// itself.
func (t Tool) Offered(s *thread.Thread, draft int) bool {
	usable := (t.Risk == Auto || t.Risk == Ask) && !s.IsOff(t.Name)
	usable = usable && (!t.Reads || len(s.Held()) > 0) && t.Entitled(s.Open, s.Last)
	usable = usable && (t.Name != thread.ScheduleTool || s.Open == nil || s.Open.Slot == nil)
	usable = usable && (t.Name != thread.TeamSearch || len(s.Open.Eyes()) > 0)
	usable = usable && (t.Name != thread.RememberTool || s.Open == nil || s.Open.Requester.MayWrite())
	return usable && (draft == 0 || t.Harmless())
}

// RulesIn says who approves a call in a turn. Nobody need look at the turn of a schedule at
// once.
func (t Tool) RulesIn(turn *thread.Turn, s Schedules) memory.Rules {
	r := t.Rules
	if turn.Slot != nil && !t.OwnTimeout && s.Timeout > 0 {
		r.Timeout = s.Timeout
	}
	return r
}

// Set is all tools of a program.
type Set []Tool

// Find finds a tool by its name.
func (s Set) Find(name string) (Tool, bool) {
	for _, t := range s {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Names lists the names of the tools.
func (s Set) Names() []string {
	names := make([]string, 0, len(s))
	for _, t := range s {
		names = append(names, t.Name)
	}
	return names
}

// Within is how long a call of a tool may take at the most.
func (s Set) Within(name string) time.Duration {
	tool, _ := s.Find(name)
	return tool.Within()
}

// Origin says whether strangers write the results of a tool. It is kept with each result,
// since the tool may be gone later.
func (s Set) Origin(name string) string {
	if tool, known := s.Find(name); known && !tool.Outside {
		return thread.Inside
	}
	return thread.Outside
}

// Groups lists the groups and roles that decide who may ask for tools.
func (s Set) Groups() (rules []string) {
	for _, tool := range s {
		for _, rule := range tool.For {
			if IsGroup(rule) && !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// IsGroup says whether an approver rule names a group or a role. Only the platform knows
// its members.
func IsGroup(rule string) bool {
	return strings.HasPrefix(rule, "group:") || strings.HasPrefix(rule, "role:")
}

// Unfit says what is wrong with arguments that a person wrote; "" where nothing is. plain
// says it without quoting them.
func (t Tool) Unfit(object string) (why, plain string) {
	const misfit = "the arguments don't fit the tool's parameters"
	if !thread.IsObject(object) {
		return "these arguments are no JSON object", ""
	}
	if _, err := args.Native(object); err != nil {
		return err.Error(), "the arguments can't be read"
	}
	if t.Schema != nil {
		if bad := t.Schema.Check([]byte(object)); len(bad) > 0 {
			return misfit + ": " + strings.Join(bad, "; "), misfit
		}
	}
	return "", ""
}
