package agent_test

import (
	"slices"
	"testing"

	"nod/agent"
	"nod/agent/do"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// A thread that is forgotten still follows whoever had called the bot in it, also where
// the store holds nothing but the entry that erased it.
func TestForgetKeepsCallers(t *testing.T) {
	said := func(who chat.UserID, text string, aside bool) memory.Body {
		return memory.Message{Message: chat.Message{From: chat.User{ID: who}, Text: text, Aside: aside}}
	}
	var entries []memory.Entry
	for i, b := range []memory.Body{said("ada", "hi", false), said("ben", "hm", true), said("cid", "hi", false), memory.Broken{}, said("ada", "forget", false)} {
		entries = append(entries, memory.Entry{Seq: uint64(i + 1), Body: b})
	}
	log := agent.NewLog(entries, agent.Claim{})
	act, ok := (&agent.Agent{}).Next(log).(do.Record)
	if !ok {
		t.Fatal("nothing is erased")
	}
	erased := memory.Entry{Seq: 6, Body: act.Bodies[0]}
	log.Append(erased)
	for name, st := range map[string]chat.Standing{
		"the process that forgot": view.Standing(log.Thread),
		"another one":             view.Standing(agent.NewLog([]memory.Entry{erased}, agent.Claim{}).Thread),
	} {
		if slices.Sort(st.Callers); !slices.Equal(st.Callers, []chat.UserID{"ada", "cid"}) || !st.Known {
			t.Errorf("%s follows %v, known: %v", name, st.Callers, st.Known)
		}
	}
}
