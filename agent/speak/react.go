package speak

import (
	"encoding/json"
	"fmt"
	"strings"

	"nod/llm"
)

// React is the protocol of models without function calling: the prompt that
// Qwen was trained on, in which the model writes lines that begin with
// Thought, Action, Action Input and Final Answer, and reads the results behind
// Observation. The turn is one message that grows; the turns before it are
// messages of their own.
//
// https://github.com/QwenLM/Qwen/blob/main/examples/react_prompt.md
type React struct{}

// The recognised lines of the prompt.
const (
	reactTools  = "Answer the following questions as best you can. You have access to the following tools:\n\n"
	reactFormat = `

Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, should be one of [%s]
Action Input: the input to the action
Observation: the result of the action
... (this Thought/Action/Action Input/Observation can be repeated zero or more times)
Thought: I now know the final answer
Final Answer: the final answer to the original input question

Begin!

`
	reactTool = "%s: Call this tool to interact with the %s API. What is the %[2]s API useful for? %s Parameters: %s %s"
	reactJSON = "Format the arguments as a JSON object."
	reactCode = "Enclose the code within triple backticks (`) at the beginning and end of the code."
	reactDone = "Thought: I now know the final answer\nFinal Answer: "
)

// Request implements [Protocol].
func (React) Request(p Prompt) llm.Request {
	if p.LastCall {
		p.Tools = nil
	} else if len(p.Tools) == 0 {
		return NativeTools{}.Request(p) // nothing to act with: a plain conversation
	}
	f := reactForm{p.Tools}
	return llm.Request{
		Messages: converse(p, React{}.Frame(p.Tools), f, func() form { return f }),
		Stop:     []string{stopObservation, stopObservation + "\n"},
	}
}

// Frame is what the prompt says before the question, tools included.
func (React) Frame(tools []llm.Tool) string {
	if len(tools) == 0 {
		return LastCall + "\n\n"
	}
	descriptions := make([]string, 0, len(tools))
	for _, t := range tools {
		descriptions = append(descriptions, describe(t))
	}
	return reactTools + strings.Join(descriptions, "\n\n") + fmt.Sprintf(reactFormat, strings.Join(kit(tools).names(), ","))
}

func describe(t llm.Tool) string {
	human, format := t.HumanName, reactJSON
	if human == "" {
		human = t.Name
	}
	if t.Code != "" {
		format = reactCode
	}
	return fmt.Sprintf(reactTool, t.Name, human, strings.TrimSpace(t.Description), parametersOf(t), format)
}

func parametersOf(t llm.Tool) string {
	if len(t.Parameters) == 0 {
		return `{"type":"object","properties":{}}`
	}
	return string(t.Parameters)
}

// reactForm writes what was said and done in the protocol's lines.
type reactForm struct{ kit }

// Label implements [Framed].
func (React) Label() string { return "\n" + reactDone }

func (reactForm) question(said string) string { return "Question: " + said }

func (f reactForm) step(do Doing) string {
	var b strings.Builder
	b.WriteString("Thought: " + do.said())
	for i, c := range do.Calls {
		fmt.Fprintf(&b, "\nAction: %s\nAction Input: %s\nObservation: %s", c.Tool, f.input(c), quoted(do.Results[i]))
	}
	if len(do.Calls) == 0 {
		b.WriteString("\nObservation: " + f.correction())
	}
	return b.String()
}

// correction tells a model that only thought how to go on.
func (f reactForm) correction() string {
	if len(f.kit) == 0 {
		return `That was no answer. Write the line "Final Answer: " with your answer.`
	}
	return `That was neither an action nor an answer. Write the lines "Action: " with one of [` + strings.Join(f.names(), ",") +
		`] and "Action Input: " with its input, or the line "Final Answer: " with your answer.`
}

// input shows arguments as the model would write them: code in a fence.
func (f reactForm) input(c Call) string {
	if !c.Object {
		return quoted(malformed(c.Args))
	}
	t, _ := f.find(c.Tool)
	var fields map[string]json.RawMessage
	var source string
	if t.Code == "" || json.Unmarshal([]byte(c.Args), &fields) != nil || len(fields) != 1 ||
		json.Unmarshal(fields[t.Code], &source) != nil {
		return c.Args
	}
	return "\n" + Fence(strings.TrimRight(source, "\n"))
}

func (reactForm) answer(text string) string { return reactDone + text }

func (reactForm) end(last bool) string {
	if last {
		return "\n" + reactDone
	}
	return "\nThought: "
}
