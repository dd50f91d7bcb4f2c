package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/chat"
)

// The file may name several models. People choose one for a thread; the `for` of a model is
// looked up for the requester of each turn, who else has the first one. A model that is away
// is replaced by the next of its fallback, for the rest of the turn.

// Model is what is different with one of the other models.
type Model struct {
	Model    string // its name at the provider
	Protocol speak.Protocol
	Strategy strategy.Kind
	MaxSteps int
	Count    func(string) int
	Blind    bool
	For      []string // who may have it; none: everyone
	Fallback []string
}

// As is the agent for a model by its name; for any other name it is the first one's.
func (a *Agent) As(name string) *Agent {
	m, known := a.Models[name]
	if !known || name == a.Name {
		return a
	}
	b := *a
	b.Name, b.Model, b.Protocol, b.Strategy, b.MaxSteps = name, m.Model, m.Protocol, m.Strategy, m.MaxSteps
	b.Count, b.Blind, b.Fallback = m.Count, m.Blind, m.Fallback
	return &b
}

// wished is the model that people chose for the thread; "" where the first one answers.
func (d *decision) wished() string {
	for _, name := range d.thread.Folk.Models {
		if _, known := d.agent.Models[name]; known {
			return name
		}
	}
	return ""
}

// chosen is the model that a turn begins with.
func (d *decision) chosen(t *thread.Turn) string {
	name := d.wished()
	if name != "" && d.agent.Models[name].isFor(t.Requester.ID, t.Belongs[t.Requester.ID].In) {
		return name
	}
	return d.agent.Room.Model
}

func (m Model) isFor(who chat.UserID, in []string) bool {
	return policy.Tool{For: m.For}.IsFor(who, in)
}

// thinks is the model of the next call of a turn: the spare that answered last, if the
// chosen one was away.
func (d *decision) thinks(t *thread.Turn) string {
	name := d.chosen(t)
	for _, st := range slices.Backward(t.Steps) {
		if st.Named != name && slices.Contains(d.agent.As(name).Fallback, st.Named) {
			return st.Named
		}
	}
	return name
}

// groups lists the groups and roles that decide what a turn may use.
func (d *decision) groups() []string {
	rules := d.agent.Tools.Groups()
	if len(d.thread.Folk.Models) == 0 {
		return rules
	}
	for _, name := range slices.Sorted(maps.Keys(d.agent.Models)) {
		for _, rule := range d.agent.Models[name].For {
			if policy.IsGroup(rule) && !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// Spare is the call for the next model of the fallback; ok is false where there is none.
// why says what became of the last one.
func (a *Agent) Spare(log *Log, c do.Call, why string) (spare do.Call, ok bool) {
	d := a.on(log)
	if c.Whole != nil {
		c = *c.Whole
	}
	defer d.suppose(c.Before...)()
	t := d.thread.Open
	if t == nil {
		return c, false
	}
	first := d.chosen(t)
	chain := append([]string{first}, a.As(first).Fallback...)
	next := slices.Index(chain, c.Request.Model) + 1
	if next == 0 || next == len(chain) {
		return c, false
	}
	plain := *a.As(chain[next])
	plain.Summary = false
	d.agent, d.held = &plain, true
	spare, ok = d.callModel(t, strategy.Phase{Kind: c.Phase, Branch: c.Branch}).(do.Call)
	spare.Before = slices.Concat(c.Before, spare.Before)
	spare.Instead = strings.TrimPrefix(c.Instead+", "+a.As(c.Request.Model).Model+": "+why, ", ")
	return spare, ok
}

func (d *decision) modelReply(c *thread.Command) string {
	name, chosen := d.wished(), c.Arg
	_, known := d.agent.Models[chosen]
	now, why := d.agent.Room.Model, "nothing else was chosen"
	if now != "" {
		why = "this channel has it"
	}
	text := fmt.Sprintf("%s answers here, since %s.", d.nameOf(cmp.Or(name, now)), why)
	switch {
	case chosen != "" && chosen != "default" && !known:
		text = fmt.Sprintf("There is no model `%s`. %s answers here.", chosen, d.nameOf(cmp.Or(name, now)))
	case name != "" && !d.agent.Models[name].isFor(c.From.ID, c.Is.In):
		text = d.notFor(name)
	case name != "":
		text = fmt.Sprintf("%s answers here, since it was chosen for this thread.", d.nameOf(name))
	}
	if len(d.agent.Models) > 0 {
		text += " There are `default`, `" + strings.Join(slices.Sorted(maps.Keys(d.agent.Models)), "`, `") + "`."
	}
	return text
}

// notFor tells a person that the chosen model is not for them.
func (d *decision) notFor(name string) string {
	return fmt.Sprintf("%s was chosen for this thread, and is not for you (%s), so %s answers you.", d.nameOf(name), strings.Join(d.agent.Models[name].For, ", "), d.nameOf(d.agent.Room.Model))
}

func (d *decision) nameOf(name string) string {
	if name == "" {
		return "`" + d.agent.Model + "`"
	}
	return fmt.Sprintf("`%s` (%s)", name, d.agent.Models[name].Model)
}

// unentitled tells a person once that the model of the thread is not for them.
func (d *decision) unentitled() do.Action {
	t, name := d.thread.Open, d.wished()
	if t == nil || name == "" || d.chosen(t) == name {
		return nil
	}
	if _, known := t.Belongs[t.Requester.ID]; !known && len(d.groups()) > 0 {
		return nil // it is looked up before the model is called
	}
	key := "model/" + name + "/" + string(t.Requester.ID)
	if d.thread.Has(key) {
		return nil
	}
	return d.sayNotice(key, t.ReplyTo(), d.notFor(name), t.ID)
}
