package terminal

import (
	"slices"

	"nod/chat"
)

// gate knows whether the bot is at rest: whether all that the person did has
// been dealt with. The next line of piped input that is there already is read at
// rest only, so that a scripted conversation goes the same way every time, and
// its end is the end of the last turn. A line that comes while the bot works is
// read at once: somebody wrote it then, and may mean stop.
//
// It can't ask; it watches what is drawn. Everything put into the inbox owes a
// sign: a message owes an answer, an approval that is asked for, or 👀; a
// reaction owes an edit of its approval; a decision owes the rest of its turn.
// The run says Working(true) before the signs of what it takes in and
// Working(false) after the last one, and rest is: nothing owed, not working.
// Working(false) alone would not do, as it may belong to an earlier claim.
type gate struct {
	working bool
	reply   bool // a message is not answered
	vote    bool // a reaction was not judged
	turn    bool // a decided approval's turn has not gone on
	halt    bool // the turn was asked to stop and has not
	over    bool // the input has ended: a cancelled call does not end its turn
	inquiry bool // a call waits for an answer of the person
}

func (g *gate) rest() bool {
	return !g.working && !g.reply && !g.vote && !g.turn && !g.halt
}

// attends says that nothing goes on before the person has said something: at rest,
// or while a call waits for an answer and none was given.
func (g *gate) attends() bool {
	return g.rest() || g.inquiry && !g.reply && !g.vote && !g.halt
}

// stepped is another version of the steps.
func (g *gate) stepped(s *chat.Steps) {
	asks := func(c chat.ToolCall) bool { return c.Inquirer != "" }
	was := g.inquiry
	g.inquiry = !s.Done && slices.ContainsFunc(s.Items, func(i chat.Step) bool { return slices.ContainsFunc(i.Calls, asks) })
	switch {
	case g.inquiry && !was: // its turn waits
		g.reply, g.turn = false, false
	case was && !g.inquiry: // what was written was the answer
		g.reply, g.turn = false, true
	}
}

// answered is an answer or a notice.
func (g *gate) answered() { g.reply, g.turn, g.halt = false, false, false }

// asked is a new approval: its turn waits.
func (g *gate) asked() { g.reply, g.turn = false, false }

// seen is a 👀: the message waits with its turn.
func (g *gate) seen() { g.reply = false }

// judged is an approval that shows a vote, or an outcome; the turn goes on
// once no other approval waits. The notice that ends a cancelled turn may
// have come before.
func (g *gate) judged(outcome chat.Outcome, others int) {
	g.vote = false
	if outcome != "" && (outcome != chat.Cancelled || g.over) && others == 0 {
		g.turn = true
	}
}

// work is the run's sign that it has begun, or let go. What it lets go of
// with approvals open is parked: a message then waits, with 👀 or without.
func (g *gate) work(on bool, open int) {
	if g.working && !on {
		g.vote, g.turn, g.halt = false, false, false
		if open > 0 {
			g.reply = false
		}
	}
	g.working = on
}
