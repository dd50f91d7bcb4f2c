// Package agent decides. Given a thread's log it says what to do next ([Agent.Next]), and
// what the model is shown ([Agent.Prompt]). It does no I/O, has no clock and keeps no
// state. So a crash loses nothing, and every decision can be tested by writing down a log.
//
// The order of all rules is in next.go. Each room below judges one thing: agent/thread
// reads the log, agent/approval judges who may decide, agent/taint follows content from
// outside, agent/schedules and agent/facts judge what their names say, agent/prompt writes
// for the model, agent/view for people; agent/words answers their words. agent/run performs
// what Next says, in the actions of agent/do. agent/speak is how models speak.
package agent

import (
	"time"

	"nod/agent/policy"
	"nod/agent/prompt"
	"nod/agent/schedules"
	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/agent/view"
	"nod/chat"
	"nod/chat/when"
)

// Agent is the configuration of all decisions. It is read-only once made.
type Agent struct {
	Instructions string
	Examples     []speak.Example
	Tools        policy.Set
	Protocol     speak.Protocol
	Strategy     strategy.Kind                    // of turns that do not choose another; "" is Straight
	Retries      int                              // further tries of Reflexion
	Prices       *view.Prices                     // nil: no cost is shown
	Model        string                           // its name, to be noted with what it did
	MaxSteps     int                              // model calls of one turn that may use tools
	Budget       int                              // tokens of one prompt, tool definitions included; 0: no limit
	IdleReset    time.Duration                    // 0: never
	Zone         *time.Location                   // of "today is"; nil: where the person is
	Zones        func(name string) *time.Location // of [chat.User.Zone]; nil, or nil of it: UTC
	Count        func(string) int
	Blind        bool   // the model takes no images: it is told what was attached
	Taint        bool   // see package taint
	Key          []byte // of the digests that stand in logs and on cards
	Summary      bool   // what is trimmed is summarised by the model
	Schedules    policy.Schedules
	Facts        policy.Facts
	Skills       []policy.Skill           // that the model can read by its tool
	SkillOff     func(name string) string // says for the word `skills` why one is off; "" when it is on

	Alerts map[string]policy.Alert // by name

	// Name is the name in the file of the model that these fields are about; "" of the first.
	Name     string
	Models   map[string]Model // the others, by that name
	Fallback []string         // names of those that are asked in turn when this one is away

	Rooms map[string]Room // what is different in some channels, by platform:ID
	Room  Room            // the one that these fields are about; see [Agent.In]

	// Calling says, for `help`, how people call the bot on a platform and stop it
	// there; nil, or "" of it: help says nothing of that.
	Calling func(platform string) string
}

// ReadPlan reads the plan in a message; see [schedules.Plan].
func (a *Agent) ReadPlan(m chat.Message, now time.Time) (plan *when.Plan, why string) {
	return schedules.Plan(a.Schedules, a.zoneOf, m, now)
}

// zoneOf is the name of the zone in which a person's times are meant.
func (a *Agent) zoneOf(u chat.User) string {
	return prompt.Writer{Zone: a.Zone, Zones: a.Zones}.ZoneOf(u).String()
}
