package prompt

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// perMessage is the cost of a message beside its text, in tokens.
const perMessage = 8

// perImage is about what providers count for a picture, in tokens.
const perImage = 1000

// marginMessages counts the system's message, and two that a protocol may add.
const marginMessages = 3

// bytes is at least the prompt's size in tokens, since a token has at least a byte.
func (w Writer) bytes(p speak.Prompt) int {
	text, messages := w.standing(p)
	n, each := len(text)+messages*perMessage, perMessage+len(w.label())
	for _, items := range p.Turns {
		for _, piece := range pieces(items) {
			n += len(piece.text) + len(piece.rest) + each + piece.images*perImage
		}
	}
	return n
}

// piece is one text of the prompt.
type piece struct {
	call       string
	text, rest string // apart, since most callers only need the length
	of         string // a call of its step; "" for words of people
	images     int
}

// pieces lists the texts of a turn in the order of the prompt.
func pieces(items []speak.Item) []piece {
	out := make([]piece, 0, len(items))
	for _, it := range items {
		do := it.Step
		if do == nil {
			out = append(out, piece{text: it.Said, rest: it.Answer, images: len(it.Images)})
			continue
		}
		of := ""
		if len(do.Calls) > 0 {
			of = do.Calls[0].ID
		}
		out = append(out, piece{of: of, text: do.Thought, rest: string(do.Echo), images: len(do.Images)})
		for _, c := range do.Calls {
			out = append(out, piece{of: of, text: c.Tool, rest: c.Args})
		}
		for i, r := range do.Results {
			out = append(out, piece{of: of, call: do.Calls[i].ID, text: r})
		}
	}
	return out
}

// Weight says how much a prompt holds, in tokens.
type Weight struct {
	Turns       int  // before the current one
	Left        bool // older ones are left out
	Used, Fixed int
}

// Weigh counts the prompt as it is.
func (w Writer) Weigh() Weight {
	p := w.present()
	whole := w.shape(p)
	return Weight{Turns: len(p.Turns) - 1, Left: p.Left != "", Used: whole.size(w.Thread.Trim), Fixed: whole.fixed}
}

// shape counts the prompt with every text whole. [trim] computes the size under a cut.
func (w Writer) shape(p speak.Prompt) shape {
	text, messages := w.standing(p)
	s := shape{fixed: w.Count(text) + messages*perMessage, each: perMessage + w.Count(w.label())}
	talk := w.Thread.Talk(w.Thread.Trim)
	whole := p.Turns
	if cut := w.Thread.Trim; cut.Clip > 0 || cut.Steps > 0 || len(cut.Stubs) > 0 { // its texts are not whole
		whole = w.itemsOf(talk, memory.Trimmed{})
	}
	s.turns = make([]turnShape, 0, len(talk))
	for i, items := range whole {
		sizes := turnShape{seq: thread.FirstOf(talk[i][0].ID, talk[i][0].Msgs), pieces: make([]sized, 0, len(items))}
		for _, pc := range pieces(items) {
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

// label is the text that the protocol puts before each message.
func (w Writer) label() string {
	if f, ok := w.Protocol.(speak.Framed); ok {
		return f.Label()
	}
	return ""
}

// frame is the text of the tools for the model.
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

// standing is the text of the part of the prompt that always stays, and its number of
// messages.
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

// tokenCorrection is the ratio of the provider's count to ours, the last time that both
// counted.
func tokenCorrection(s *thread.Thread) float64 {
	for _, t := range slices.Backward(s.Turns) {
		for _, st := range slices.Backward(t.Steps) {
			if st.Usage.Prompt > 0 && 2*st.Usage.Prompt >= st.Estimate && st.Estimate > 0 { // else the server cut it
				return min(2, max(0.8, float64(st.Usage.Prompt)/float64(st.Estimate)))
			}
		}
	}
	return 1
}

// Fits says whether the instructions and tool definitions leave room for a conversation.
// The thread has an empty open turn. They are counted only when their length leaves a
// doubt, since the tokenizer has to load its table for it.
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

// Shorter is the trim for a prompt that was too long for the model, to a share of what was
// sent; ok is false where nothing more can be left out. A trim leaves less.
func (w Writer) Shorter(share float64) (cut memory.Trimmed, ok bool) {
	now := w.Thread.Trim
	whole := w.shape(w.present())
	cut = trim(whole, int(share*float64(whole.size(now))), now)
	cut.Clip = now.Clip // for as long as it is needed to fit the budget
	if same(cut, now) {
		return cut, false
	}
	w.Thread.Carry(&cut)
	return cut, true
}
