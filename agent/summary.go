package agent

import (
	"slices"

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

// Summarised is the entry for a summary that the model wrote.
func (a *Agent) Summarised(log *Log, act Summarise, r llm.Response) memory.Trimmed {
	return a.on(log).prompt().Summarised(act.Cut, r)
}

// Renewed gives what goes before the entry of a call of the model as it has to be by
// now: while the model was at work people may have revoked, switched or dropped
// something, and a cut that was made before must not bring it back.
func (a *Agent) Renewed(log *Log, before []memory.Body) []memory.Body {
	out := slices.Clone(before)
	for i, b := range out {
		if cut, ok := b.(memory.Trimmed); ok {
			log.Thread.Renew(&cut)
			out[i] = cut
		}
	}
	return out
}
