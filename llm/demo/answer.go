package demo

import (
	"encoding/json"
	"regexp"
	"strings"

	"nod/llm"
)

const (
	script = "I am nod's offline demo: a script, not a language model."
	needs  = "I still need" // marks an answer that asks back, so that the next message can complete it
)

var (
	hello  = regexp.MustCompile(`(?i)\b(hello|hi|hey|help|good (morning|day|evening)|who are you|what can you do)\b`)
	thanks = regexp.MustCompile(`(?i)\b(thanks|thank you|thx|bye|goodbye)\b`)
)

// answer is the demo's answer once there are no more calls to make.
func answer(c conversation, p plan, tools []llm.Tool) string {
	var out []string
	for _, r := range c.done {
		out = append(out, sentence(r))
	}
	out = append(out, p.gaps...)
	switch {
	case len(out) > 0 && c.first:
		return strings.Join(append(out, "("+script+")"), "\n\n")
	case len(out) > 0:
		return strings.Join(out, "\n\n")
	case thanks.MatchString(c.asked) && !c.first:
		return "You are welcome. (" + script + ")"
	case hello.MatchString(c.asked):
		return "Hello. " + introduction(tools)
	}
	return "That is nothing that I know what to do with. " + introduction(tools)
}

func introduction(tools []llm.Tool) string {
	var can []string
	if find(tools, calculator) != nil {
		can = append(can, "- arithmetic: *what is 12\\*(3+4)?*, *15% of 80*")
	}
	if find(tools, clock) != nil {
		can = append(can, "- the time: *what time is it in Tokyo?*")
	}
	var others []string
	for _, t := range tools {
		if t.Name != calculator && t.Name != clock {
			others = append(others, quote(t.Name))
		}
	}
	if len(others) > 0 {
		can = append(can, "- a tool that you name in your message, with `name=value` where I can't guess: "+strings.Join(others, ", "))
	}
	if len(can) == 0 {
		return script + " I have no tools here, so there is nothing that I can do for you now."
	}
	return script + " What I can do:\n\n" + strings.Join(can, "\n")
}

// outcomes are the words for a call that did not simply run, with the demo's remark.
var outcomes = []struct{ word, say string }{
	{"outcome unknown", "whether %s ran is not known. Please look before you ask for it again."},
	{"denied", "I did not run %s: it was denied."},
	{"expired", "I did not run %s: nobody approved it in time."},
	{"cancelled", "I did not run %s: it was cancelled."},
}

// sentence reads one result out.
func sentence(r result) string {
	text := strings.TrimSpace(r.text)
	if say := refusal(r); say != "" {
		return say
	}
	var args struct{ Expression string }
	_ = json.Unmarshal([]byte(r.call.Args), &args) // then there is none
	if mark, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(mark, "[") && strings.HasSuffix(mark, "]") {
		text = rest // without nod's own remark
	}
	switch short := !strings.Contains(text, "\n"); {
	case text == "":
		return quote(r.call.Name) + " ran, and had nothing to say."
	case r.call.Name == chart && strings.Contains(text, "chart is in the file"):
		return "Here is the chart."
	case short && r.call.Name == calculator && args.Expression != "" && !strings.Contains(text, "="):
		return quote(args.Expression) + " = " + text
	case short && r.call.Name == calculator:
		return text
	case short:
		return quote(r.call.Name) + " says: " + text
	}
	return quote(r.call.Name) + " says:\n\n```\n" + strings.ReplaceAll(text, "```", "'''") + "\n```"
}

// refusal finds the word near the beginning: further on it may be anything,
// such as the output of a command.
func refusal(r result) string {
	head := strings.ToLower(strings.TrimSpace(r.text))
	head = head[:min(len(head), 80)]
	for _, o := range outcomes {
		before, _, ok := strings.Cut(head, o.word)
		before = strings.TrimSpace(before)
		if !ok || strings.HasSuffix(before, "permission") || strings.HasSuffix(before, "access") {
			continue
		}
		s := strings.Replace(o.say, "%s", quote(r.call.Name), 1)
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return ""
}
