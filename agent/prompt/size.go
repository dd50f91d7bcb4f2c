package prompt

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// perMessage is what a message costs beside its text, in tokens.
const perMessage = 8

// perImage is about what providers count for a picture, in tokens.
const perImage = 1000

// marginMessages are the system's, and the two that a protocol may add.
const marginMessages = 3

// promptBytes bounds a prompt's tokens from above: a token has at least a byte. frame
// is how much the protocol writes of the tools, label what it writes at each text.
func promptBytes(p speak.Prompt, frame int, label string) int {
	n := len(p.System) + len(p.Left) + len(textLeftOut) + len(textStepsLeftOut) + len(speak.LastCall) + marginMessages*perMessage
	n += frame + len(p.Tools)*perMessage
	for _, e := range p.Examples {
		n += len(e.User) + len(e.Assistant) + 2*perMessage
	}
	for _, items := range p.Turns {
		for piece := range pieces(items) {
			n += len(piece.text) + len(piece.rest) + perMessage + len(label) + piece.images*perImage
		}
	}
	return n
}

type piece struct {
	call       string
	text, rest string // apart: most of who looks at one wants no more than its length
	of         string // a call of the step that it belongs to; "" for what people said
	images     int
}

// pieces goes through the texts of a turn in the order of the prompt.
func pieces(items []speak.Item) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for _, it := range items {
			if it.Step != nil {
				if !stepPieces(it.Step, yield) {
					return
				}
			} else if !yield(piece{text: it.Said, rest: it.Answer, images: len(it.Images)}) {
				return
			}
		}
	}
}

// stepPieces goes through the texts of a step; false: no more are wanted.
func stepPieces(do *speak.Doing, yield func(piece) bool) bool {
	of := ""
	if len(do.Calls) > 0 {
		of = do.Calls[0].ID
	}
	if !yield(piece{of: of, text: do.Thought, rest: string(do.Echo), images: len(do.Images)}) {
		return false
	}
	for _, c := range do.Calls {
		if !yield(piece{of: of, text: c.Tool, rest: c.Args}) {
			return false
		}
	}
	for i, r := range do.Results {
		if !yield(piece{of: of, call: do.Calls[i].ID, text: r}) {
			return false
		}
	}
	return true
}

// Weight says how much a prompt holds, in tokens.
type Weight struct {
	Turns       int  // before the current one
	Left        bool // older ones are left out
	Used, Fixed int
}

func (w Writer) Weigh() Weight {
	p := w.preamble()
	p.Turns, p.Left = w.exchanges(w.Thread.Trim), leftText(w.Thread, w.Thread.Trim)
	whole := w.shape(p)
	return Weight{Turns: len(p.Turns) - 1, Left: p.Left != "", Used: whole.size(w.Thread.Trim), Fixed: whole.fixed}
}

// shape counts the prompt with every text whole: what of it a cut leaves is
// for [trim] to compute.
func (w Writer) shape(p speak.Prompt) shape {
	s := shape{fixed: w.fixed(p), each: perMessage + w.Count(w.label())}
	talk := w.Thread.Talk(w.Thread.Trim)
	whole := p.Turns
	if cut := w.Thread.Trim; cut.Clip > 0 || cut.Steps > 0 || len(cut.Stubs) > 0 { // texts are left out of it
		whole = w.itemsOf(talk, memory.Trimmed{})
	}
	s.turns = make([]turnShape, 0, len(talk))
	for i, items := range whole {
		sizes := turnShape{seq: since(talk[i][0].ID, talk[i][0].Msgs), pieces: make([]sized, 0, len(items))}
		for pc := range pieces(items) {
			size := sized{call: pc.call, tokens: w.Count(pc.text + pc.rest)}
			if c := w.Thread.Calls[pc.of]; c != nil {
				size.step = c.Step.Seq
			}
			size.tokens += pc.images * perImage
			if pc.call != "" {
				size.stub = w.Count(stub(pc.text))
			}
			sizes.pieces = append(sizes.pieces, size)
		}
		s.turns = append(s.turns, sizes)
	}
	return s
}

// since is the first entry of a turn: what was said between people before it was
// opened is of it, and whoever said that is one of those whose words are in it.
func since(turn uint64, msgs []*thread.Message) uint64 {
	for _, m := range msgs {
		turn = min(turn, m.Seq)
	}
	return turn
}

func (w Writer) label() string {
	if f, ok := w.Protocol.(speak.Framed); ok {
		return f.Label()
	}
	return ""
}

// frame is what the model reads of the tools.
func (w Writer) frame(tools []llm.Tool) string {
	if f, ok := w.Protocol.(speak.Framed); ok && len(tools) > 0 {
		return f.Frame(tools)
	}
	var b strings.Builder
	for _, t := range tools {
		b.WriteString(t.Name + t.Description + string(t.Parameters))
	}
	return b.String()
}

// frameBytes is how long that is.
func (w Writer) frameBytes(tools []llm.Tool) (n int) {
	if _, ok := w.Protocol.(speak.Framed); ok {
		return len(w.frame(tools))
	}
	for _, t := range tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return n
}

// fixed counts what stands before the conversation and always stays.
func (w Writer) fixed(p speak.Prompt) int {
	text, messages := w.standing(p)
	return w.Count(text) + messages*perMessage
}

// standing is the text of that, and of how many messages it is.
func (w Writer) standing(p speak.Prompt) (string, int) {
	var text strings.Builder
	text.WriteString(p.System + p.Left + textLeftOut + textStepsLeftOut + speak.LastCall)
	text.WriteString(w.frame(p.Tools))
	messages := marginMessages + len(p.Tools)
	for _, e := range p.Examples {
		text.WriteString(e.User + e.Assistant)
		messages += 2
	}
	return text.String(), messages
}

// tokenCorrection is by how much the provider counted more tokens than nod did, the
// last time that both counted.
func tokenCorrection(s *thread.Thread) float64 {
	for _, t := range slices.Backward(s.Turns) {
		for _, st := range slices.Backward(t.Steps) {
			if st.Estimate > 0 && st.Usage.Prompt > 0 {
				return min(2, max(0.8, float64(st.Usage.Prompt)/float64(st.Estimate)))
			}
		}
	}
	return 1
}

// Fits is [Agent.Fits], for a thread with an empty turn.
func (w Writer) Fits() error {
	const leastBytes = 2 // of a token, in any text that is written for people
	if w.Budget <= 0 {
		return nil
	}
	text, messages := w.standing(w.preamble())
	if len(text)/leastBytes+messages*perMessage <= w.Budget/2 {
		return nil
	}
	if fixed := w.Count(text) + messages*perMessage; fixed > w.Budget/2 {
		return fmt.Errorf("memory.budget_tokens: instructions and tool definitions alone take %d tokens; write at least %d, or fewer tools", fixed, 2*fixed)
	}
	return nil
}

// Shorter is [Agent.Shorter] for the prompt as it is.
func (w Writer) Shorter() (cut memory.Trimmed, ok bool) {
	const share = 2. / 3 // of what was sent; a trim leaves less
	now := w.Thread.Trim
	p := w.preamble()
	p.Turns, p.Left = w.exchanges(now), leftText(w.Thread, now)
	whole := w.shape(p)
	cut = trim(whole, int(share*float64(whole.size(now))), now)
	cut.Clip = now.Clip // for as long as it is needed to fit the budget
	if same(cut, now) {
		return cut, false
	}
	w.Thread.Carry(&cut)
	return cut, true
}
