package speak

import (
	"fmt"
	"strings"
)

// shot is an example of how questions are answered. It is shown where all the
// tools in it are on.
type shot struct {
	question string
	steps    []shotStep
	thought  string // the last one
	answer   string
}

type shotStep struct{ thought, tool, input, observation string }

// The tools that the examples use.
const (
	toolSearch     = "wikipedia_search"
	toolLookup     = "wikipedia_lookup"
	toolCalculator = "calculator"
)

var shots = []shot{
	{
		question: "Into which sea does the river that flows through Vienna run?",
		steps: []shotStep{
			{
				"I need the river that flows through Vienna, and then the sea into which it runs.", toolSearch, "Vienna",
				"Vienna is the capital and the most populous city of Austria. It lies in the northeast of the country, on the banks of the Danube.",
			},
			{
				"The river is the Danube. Now I need the sea into which it runs.", toolSearch, "Danube",
				"The Danube is the second-longest river in Europe. It rises in the Black Forest in Germany and flows southeast.",
			},
			{
				"That does not say where it ends. I look for its mouth further down the page.", toolLookup, "sea",
				"(Result 1/4) After 2,850 kilometres it reaches the Black Sea through a delta in Romania and Ukraine.",
			},
		},
		thought: "The Danube runs into the Black Sea.", answer: "The Danube flows through Vienna, and runs into the Black Sea.",
	},
	{
		question: "Did the author of Frankenstein and the poet Lord Byron ever meet?",
		steps: []shotStep{{
			"I need the author of Frankenstein, and whether that person met Lord Byron.", toolSearch, "Frankenstein",
			"Frankenstein is a novel of 1818 by the English author Mary Shelley. She began it in 1816 near Geneva, at a house by the lake where Lord Byron had proposed that each of his guests write a ghost story.",
		}},
		thought: "Mary Shelley was Byron's guest in 1816, so they met.", answer: "Yes: Mary Shelley began Frankenstein as Lord Byron's guest near Geneva in 1816.",
	},
	{
		question: "What do 12 boxes at 7.25 euros cost, less 15 percent?",
		steps: []shotStep{{
			"That is 12 times 7.25, times 0.85.", toolCalculator, "12 * 7.25 * 0.85", "73.95",
		}},
		thought: "The calculator says 73.95.", answer: "73.95 euros.",
	},
	{
		question: "Thank you, that was all.",
		thought:  "There is nothing to find out.", answer: "You are welcome.",
	},
}

// examplesFor writes the examples that the tools can play.
func examplesFor(tools kit, b brackets) string {
	var out strings.Builder
	for _, s := range shots {
		if text, ok := s.write(tools, b); ok {
			out.WriteString(text)
		}
	}
	return out.String()
}

func (s shot) write(tools kit, b brackets) (text string, ok bool) {
	var out strings.Builder
	fmt.Fprintf(&out, "Question: %s\n", s.question)
	k := 1
	for _, st := range s.steps {
		if _, on := tools.find(st.tool); !on {
			return "", false
		}
		fmt.Fprintf(&out, "Thought %d: %s\nAction %[1]d: %[3]s[%[4]s]\nObservation %[1]d: %[5]s\n", k, st.thought, b.name(st.tool), st.input, st.observation)
		k++
	}
	fmt.Fprintf(&out, "Thought %d: %s\nAction %[1]d: Finish[%[3]s]\n\n", k, s.thought, s.answer)
	return out.String(), true
}

// configured are the examples of the configuration.
func configured(examples []Example) string {
	var out strings.Builder
	for _, e := range examples {
		fmt.Fprintf(&out, "Question: %s\nThought 1: I can answer this at once.\nAction 1: Finish[%s]\n\n", e.User, e.Assistant)
	}
	return out.String()
}
