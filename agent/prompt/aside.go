package prompt

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/phrase"
	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// Aside is a request beside the conversation, for a plan or a check. The model reads as
// text what was said and done, and then what to write.
func (w Writer) Aside(t *thread.Turn, kind memory.StepKind) llm.Request {
	order := textPlan + w.toolLines()
	if kind == memory.ReflectStep {
		order = textCheck
		if t.Again != 0 && t.Draft() == nil {
			order = textReflect
		}
	}
	var lines []string
	for _, items := range w.exchanges(w.Thread.Trim) {
		lines = append(lines, told(items)...)
	}
	if draft := t.Answer(); draft != "" {
		lines = append(lines, "Answer: "+draft)
	}
	text := strings.Join(lines, "\n")
	if w.Budget > 0 {
		text = speak.Clip(text, 3*w.Budget)
	}
	return llm.Request{Messages: []llm.Message{
		{Role: llm.System, Text: w.preamble().System},
		{Role: llm.User, Text: "The conversation so far:\n" + speak.Fence(text) + "\n\n" + order},
	}}
}

func (w Writer) toolLines() string {
	var b strings.Builder
	for _, t := range w.preamble().Tools {
		fmt.Fprintf(&b, "\n- %s: %s", t.Name, phrase.FirstSentence(t.Description))
	}
	return b.String()
}

// phaseNotes lists what a strategy adds to a turn: a plan, drafts, a lesson. runs says
// that the turn is of the current exchange.
func phaseNotes(t *thread.Turn, st *thread.Step, runs bool) []speak.Item {
	switch st.Phase {
	case memory.PlanStep:
		if runs && st.Thought != "" {
			return []speak.Item{{Said: textFollow + "\n" + st.Thought}}
		}
	case memory.ReflectStep:
		if st.Pass || st.Thought == "" {
			return nil
		}
		note := textLesson + "\n" + st.Thought
		if draft := answerBefore(t, st); runs && draft != "" {
			note = textTry + "\n" + speak.Fence(draft) + "\n" + note
		}
		return []speak.Item{{Said: note}}
	case memory.SolveStep:
		if runs && st.Branch == len(strategy.Angles) && len(st.Calls) == 0 {
			return draftNotes(t)
		}
	}
	return nil
}

// answerBefore is the answer of the last try before a step.
func answerBefore(t *thread.Turn, st *thread.Step) string {
	i := slices.Index(t.Steps, st)
	for i--; i >= 0; i-- {
		if t.Steps[i].Phase == "" {
			return t.Steps[i].Answer
		}
	}
	return ""
}

func draftNotes(t *thread.Turn) []speak.Item {
	var b strings.Builder
	for _, st := range t.StepsOf(memory.SolveStep) {
		if st.Answer != "" {
			fmt.Fprintf(&b, "\n\nDraft %d:\n%s", st.Branch, speak.Fence(st.Answer))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return []speak.Item{{Said: textMerge + b.String()}}
}

// retryNote tells the model the purpose of a turn without a new message. A reflection does
// that too.
func retryNote(t *thread.Turn) []speak.Item {
	if t.Again == 0 || t.From != nil {
		return nil
	}
	if reflected := t.StepsOf(memory.ReflectStep); strategy.Kind(t.Strategy) == strategy.Reflexion && (len(reflected) == 0 || !reflected[0].Pass) {
		return nil
	}
	return []speak.Item{{Said: fmt.Sprintf(textRetry, t.Requester.Display())}}
}

// resumeNote tells the model whose place a call takes. It comes behind the call, where a
// model expects a person to speak.
func resumeNote(t *thread.Turn, st *thread.Step, cut memory.Trimmed) []speak.Item {
	c := st.Origin()
	if c == nil {
		return nil
	}
	text := fmt.Sprintf(textResumed, st.By.Display(), phrase.Brief(c.Tool), phrase.ShortArgs(c))
	if len(t.Stays) > 0 {
		text += fmt.Sprintf(textStays, phrase.WhatRan(t.Stays))
	}
	return []speak.Item{{Said: speak.Clip("["+text+"]", cut.Clip)}}
}
