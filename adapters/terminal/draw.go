package terminal

import (
	"errors"
	"slices"

	"nod/chat"
)

// errLeft is for posts after Run has returned: nobody reads them any more, so
// they must not count as posted. The next start shows them.
var errLeft = errors.New("the terminal was left")

// shown is what stands on the screen under one reference.
type shown struct {
	text    string // of a Text
	file    bool   // a File
	version uint64 // of Steps: the newest that was drawn
	printed int    // of Steps: elements written, where nothing is redrawn
	done    bool   // of Steps: folded
	over    bool   // of Steps: the answer is out, only the fold line may follow
	asked   bool   // an Approval
	verdict string // of an Approval: how far it is, as written
	args    string // of an Approval: what would run, as written
	decided bool   // of an Approval: what it was decided was written
}

// show draws a post under its reference; a.mu is held.
func (a *Adapter) show(ref chat.MessageRef, p chat.Post) error {
	switch {
	case a.left:
		return errLeft
	case p.Text != nil:
		return a.showText(ref, p.Text)
	case p.Steps != nil:
		return a.showSteps(ref, p.Steps)
	case p.Approval != nil:
		return a.showApproval(ref, p.Approval)
	}
	return nil
}

func (a *Adapter) showText(ref chat.MessageRef, t *chat.Text) error {
	if !t.Notice {
		a.newest = ref
	}
	s := a.standing(ref)
	if s.text == t.Markdown && s.text != "" {
		return nil
	}
	rows := a.drawnRows(t)
	if !t.Notice && a.steps != nil {
		s.text = t.Markdown
		a.answer = append(a.answer, rows...)
		return nil
	}
	if err := a.print(rows); err != nil {
		return err
	}
	s.text = t.Markdown
	return nil
}

// showFile says where a file is, before the answer that speaks of it.
func (a *Adapter) showFile(ref chat.MessageRef, rows []row) error {
	s := a.standing(ref)
	switch {
	case a.left:
		return errLeft
	case s.file:
		return nil
	case a.steps != nil:
		a.files = append(a.files, rows...)
	default:
		if err := a.print(rows); err != nil {
			return err
		}
	}
	s.file = true
	return nil
}

// showSteps draws a version of a turn's steps. On a live screen they are the
// region, and a fold line stays of them; elsewhere what is new is written.
func (a *Adapter) showSteps(ref chat.MessageRef, v *chat.Steps) error {
	s := a.standing(ref)
	if s.done || v.Version < s.version || s.over && !v.Done {
		return nil
	}
	s.version = v.Version
	a.gate.stepped(v)
	a.steps, a.stepsAt = v, s
	if v.Done {
		a.steps, a.stepsAt = nil, nil
	}
	groups := stepRows(v)
	fresh := groups[min(s.printed, len(groups)):]
	if a.con.editor != nil {
		fresh = nil
		if v.Done && len(groups) > 0 {
			fresh = groups[len(groups)-1:]
		}
	}
	a.con.region = a.region()
	if err := a.print(flat(fresh)); err != nil {
		return err
	}
	s.printed, s.done = len(groups), v.Done
	if v.Done {
		if err := a.flush(); err != nil {
			return err
		}
	}
	return a.refresh()
}

func (a *Adapter) showApproval(ref chat.MessageRef, w *chat.Approval) error {
	s := a.standing(ref)
	i := slices.IndexFunc(a.asks, func(k *ask) bool { return k.ref == ref })
	switch {
	case i >= 0 && w.Outcome == "" && s.args != w.Args:
		return a.askAgain(a.asks[i], s, w)
	case s.asked && s.verdict == verdict(w):
		return nil
	case i < 0 && w.Outcome == "":
		return a.open(ref, s, w)
	}
	if err := a.print(a.verdictRows(i, s.decided, w)); err != nil {
		return err
	}
	if i >= 0 && w.Outcome != "" {
		if a.secret != nil && a.secret.on == a.asks[i] {
			a.secret = nil
		}
		a.asks = slices.Delete(a.asks, i, i+1)
	}
	if !s.decided {
		a.gate.judged(w.Outcome, len(a.asks))
	}
	s.tell(w)
	return nil
}

// askAgain shows an approval of which people changed the arguments.
func (a *Adapter) askAgain(k *ask, s *shown, w *chat.Approval) error {
	k.want = *w
	if err := a.print(askRows(k, a.o.Now())); err != nil {
		return err
	}
	s.tell(w)
	return nil
}

// tell notes how far the screen says that an approval is.
func (s *shown) tell(w *chat.Approval) {
	s.asked, s.verdict, s.decided, s.args = true, verdict(w), w.Outcome != "", w.Args
}

// verdictRows say how far an approval is. i is its place among those that wait,
// -1 for one that does not; decided says that its outcome was written before.
func (a *Adapter) verdictRows(i int, decided bool, w *chat.Approval) []row {
	switch {
	case i < 0 && !decided:
		rows := append(labelled(asked(w.Number, w.Tool), chat.Exact(w.Args), strong), previewRows(w.Preview)...)
		return append(append(rows, outcomeRow(w, 0)), whyRows(w)...)
	case i < 0:
		return []row{outcomeRow(w, 0)}
	}
	number := 0
	if len(a.asks) > 1 {
		number = a.asks[i].number
	}
	rows := []row{outcomeRow(w, number)}
	if w.Outcome != "" && w.Why != a.asks[i].want.Why {
		rows = append(rows, whyRows(w)...)
	}
	return rows
}

// whyRows says why an approval ended as it did.
func whyRows(w *chat.Approval) []row {
	if w.Why == "" {
		return nil
	}
	return []row{{"  " + exactLine(w.Why), plain}}
}

// open asks for an approval.
func (a *Adapter) open(ref chat.MessageRef, s *shown, w *chat.Approval) error {
	number := a.numbered + 1
	if w.Number > 0 {
		number = w.Number // it counts up in the thread, and is the same after a restart
	}
	k := &ask{number: number, ref: ref, want: *w}
	if err := a.print(askRows(k, a.o.Now())); err != nil {
		return err
	}
	a.numbered = max(a.numbered, number)
	a.asks = append(a.asks, k)
	s.tell(w)
	return nil
}

// standing is what stands under a reference, empty when nothing does.
func (a *Adapter) standing(ref chat.MessageRef) *shown {
	s, ok := a.shown[ref]
	if !ok {
		s = &shown{}
		a.shown[ref] = s
	}
	return s
}

// flush writes the files and the answer that were held back so that they come
// after the folded steps of their turn, which are known a moment later. If the
// process dies in that moment the history shows them at the next start.
func (a *Adapter) flush() error {
	if err := a.print(a.files); err != nil {
		return err
	}
	a.files = nil
	if len(a.answer) == 0 {
		return nil
	}
	if err := a.print(a.answer); err != nil {
		return err
	}
	a.answer = nil
	if a.steps != nil {
		a.stepsAt.over = true
		a.steps, a.stepsAt = nil, nil
	}
	return a.refresh()
}

// region is what the live part of the screen should show now.
func (a *Adapter) region() []row {
	var rows []row
	switch {
	case a.steps != nil && (a.gate.working || len(a.asks) > 0):
		rows = liveRows(a.lasting(a.steps))
	case a.gate.working && len(a.growing) == 0:
		rows = []row{{a.doing.String() + " (Ctrl-C or stop ends it)", dim}}
	}
	for _, p := range a.growing {
		switch {
		case p.Text != nil:
			rows = append(rows, a.growingRows(p.Text)...)
		case p.Steps != nil:
			rows = append(rows, liveRows(p.Steps)...)
		}
	}
	return rows
}

// lasting gives steps that say for how long the present one goes on.
func (a *Adapter) lasting(s *chat.Steps) *chat.Steps {
	if !a.doing.Busy() || s.Status != a.doing.What {
		return s
	}
	v := *s
	v.Status = a.doing.String()
	return &v
}

// mostGrowing is how many lines of an answer that is being written are shown: the
// last ones, since the screen can't take back what scrolled off it.
const mostGrowing = 12

// growingRows shows the end of an answer that is being written.
func (a *Adapter) growingRows(t *chat.Text) []row {
	width, height := a.con.screen.Size()
	var rows []row
	for _, r := range textRows(t) {
		rows = append(rows, wrap(r, width-1)...)
	}
	if most := max(1, min(mostGrowing, height/2)); len(rows) > most {
		rows = append([]row{{"Answer: …", yellow}}, rows[len(rows)-most+1:]...)
	}
	return rows
}

// refresh brings the live part up to date.
func (a *Adapter) refresh() error { return a.con.show(a.region()) }

// print writes rows that stay.
func (a *Adapter) print(rows []row) error { return a.con.print(rows) }

// wake has the conversation look at the gate again.
func (a *Adapter) wake() {
	select {
	case a.changed <- struct{}{}:
	default: // it has not looked since the last wake
	}
}
