package speak

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"nod/llm/thought"
)

// label is what a line of a text protocol begins with.
type label int

const (
	noLabel label = iota // the text before the first label
	questionLabel
	thoughtLabel
	actionLabel
	inputLabel
	observationLabel
	answerLabel
)

// labelNames are the labels without spaces and digits, in lower case. Models
// that think in Chinese translate the template's.
var labelNames = map[string]label{
	"question": questionLabel, "问题": questionLabel, "問題": questionLabel,
	"thought": thoughtLabel, "thoughts": thoughtLabel, "思考": thoughtLabel, "想法": thoughtLabel,
	"action": actionLabel, "行动": actionLabel, "行動": actionLabel, "动作": actionLabel, "動作": actionLabel,
	"actioninput": inputLabel, "行动输入": inputLabel, "行動輸入": inputLabel, "动作输入": inputLabel, "動作輸入": inputLabel,
	"input": inputLabel, "输入": inputLabel, "輸入": inputLabel,
	"observation": observationLabel, "observations": observationLabel,
	"观察": observationLabel, "觀察": observationLabel, "观察结果": observationLabel, "觀察結果": observationLabel,
	"finalanswer": answerLabel, "最终答案": answerLabel, "最終答案": answerLabel, "最终回答": answerLabel, "最終回答": answerLabel,
	"answer": answerLabel, "答案": answerLabel, "回答": answerLabel,
}

// weakLabels are words with which a line of any text may begin: they count
// only where nothing stronger says otherwise.
var weakLabels = map[string]bool{
	"question": true, "问题": true, "問題": true, "input": true, "输入": true, "輸入": true,
	"answer": true, "答案": true, "回答": true,
}

// labelLine finds what may be a label at the beginning of a line: a heading's
// mark, emphasis, the word with a number, emphasis, a colon.
var labelLine = regexp.MustCompile(`(?i)^[ \t\x{3000}]*(#{1,6}[ \t]+)?(\*{1,3}|_{1,3})?[ \t]*` +
	`(final[ \t_-]*answer|action[ \t_-]*(?:\d{1,3}[ \t_-]*)?input|observations?|thoughts?|question|action|answer|input|` +
	`行动输入|行動輸入|动作输入|動作輸入|观察结果|觀察結果|最终答案|最終答案|最终回答|最終回答|` +
	`问题|問題|思考|想法|行动|行動|动作|動作|观察|觀察|答案|回答|输入|輸入)` +
	`[ \t]*(?:\d{1,3}[ \t]*)?(\*{1,3}|_{1,3})?[ \t]*([:：])?`)

// mark is a label in a text.
type mark struct {
	label      label
	weak       bool
	start, end int
	emphasis   string // that was opened before the label and is closed behind its text
}

// marks lists the labels of a text. A word without a colon is a label where it
// is a heading, or emphasised, and alone on its line. What stands in a closed
// code fence is none.
func marks(text string) []mark { return marksBut(text, fencesOf(text)) }

// marksBut lists the labels of a text that do not stand in one of the places.
func marksBut(text string, places [][2]int) []mark {
	var out []mark
	at := 0
	for line := range strings.Lines(text) {
		m, ok := markIn(line)
		m.start, m.end = m.start+at, m.end+at
		at += len(line)
		if !ok || inside(places, m.start) {
			continue
		}
		if m.label == inputLabel && m.weak && (len(out) == 0 || out[len(out)-1].label != actionLabel) {
			continue
		}
		out = append(out, m)
	}
	return out
}

// markIn finds the label with which a line begins.
func markIn(line string) (mark, bool) {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(line, " \t\u3000#*_"))
	if first < '\u2e80' && !strings.ContainsRune("FfAaOoTtQqIi", first) {
		return mark{}, false // most lines are none
	}
	at := labelLine.FindStringSubmatchIndex(line)
	if at == nil {
		return mark{}, false
	}
	group := func(i int) string {
		if at[2*i] < 0 {
			return ""
		}
		return line[at[2*i]:at[2*i+1]]
	}
	word := labelName(group(3))
	m := mark{label: labelNames[word], weak: weakLabels[word], end: at[1]}
	if m.label == noLabel {
		return m, false
	}
	open, shut := group(2), group(4)
	if group(5) == "" {
		decorated := group(1) != "" || open != "" && shut == open
		return m, decorated && !m.weak && strings.TrimSpace(line[m.end:]) == ""
	}
	if open != "" && shut == "" {
		if strings.HasPrefix(line[m.end:], open) {
			m.end += len(open)
		} else {
			m.emphasis = open
		}
	}
	return m, true
}

// labelName is a label as [labelNames] has it.
func labelName(word string) string { return without(word, " \t\u3000_-*#0123456789") }

// fencesOf lists where the closed code fences of a text begin and end.
func fencesOf(text string) [][2]int {
	var out [][2]int
	open, at := -1, 0
	for line := range strings.Lines(text) {
		if strings.Count(line, "```")%2 == 1 {
			if open < 0 {
				open = at + strings.Index(line, "```")
			} else {
				out = append(out, [2]int{open, at + len(line)})
				open = -1
			}
		}
		at += len(line)
	}
	return out
}

func inside(places [][2]int, at int) bool {
	for _, p := range places {
		if p[0] < at && at < p[1] {
			return true
		}
	}
	return false
}

// segment is a label with the text up to the next one.
type segment struct {
	mark
	text string
}

// segments cuts a text at its labels. The first segment has none.
func segments(text string) []segment { return split(text, marks(text)) }

func split(text string, found []mark) []segment {
	out := []segment{{}}
	for _, m := range found {
		out = append(out, segment{mark: m})
	}
	for i := range out {
		end := len(text)
		if i+1 < len(out) {
			end = out[i+1].start
		}
		out[i].text = trimEmphasis(text[out[i].end:end], out[i].emphasis)
	}
	return out
}

func trimEmphasis(text, emphasis string) string {
	text = strings.TrimSpace(text)
	if emphasis == "" {
		return text
	}
	if strings.Trim(text, "*_") == "" {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(text, emphasis))
}

// thoughts joins what was thought in segments.
func thoughts(segs []segment) string {
	var out []string
	for _, s := range segs {
		if (s.label == noLabel || s.label == thoughtLabel) && s.text != "" {
			out = append(out, s.text)
		}
	}
	return strings.Join(out, "\n")
}

// cutObservation ends a completion where it begins to invent a result: no
// model may write an observation. anywhere also cuts at the stop word in the
// middle of a line, as a server that knows stop words does.
func cutObservation(text string, anywhere bool) (body string, cut bool) {
	end := len(text)
	for _, m := range marks(text) {
		if m.label == observationLabel {
			end = m.start
			break
		}
	}
	if i := strings.Index(text, stopObservation); anywhere && i >= 0 {
		end = min(end, i)
	}
	return text[:end], end < len(text)
}

// stopObservation is the stop word of the ReAct prompt.
const stopObservation = "Observation:"

// parted splits a completion into what it says and what was thought before it:
// some servers leave the thinking, or only its closing tag, in the text, and
// some the end mark of the chat template.
func parted(text, reasoning string) (said, thinks string) {
	for _, end := range []string{"<|im_end|>", "<|endoftext|>"} {
		text, _, _ = strings.Cut(text, end)
	}
	text, before := thought.Split(text)
	return unwrap(text), strings.TrimSpace(reasoning + "\n" + before)
}

// unwrap takes off the code fence into which some models put all that they
// write.
func unwrap(text string) string {
	body := strings.TrimSpace(text)
	if !strings.HasPrefix(body, "```") {
		return text
	}
	_, inner, ok := strings.Cut(body, "\n")
	found := marks(inner)
	if !ok || len(found) == 0 || strings.TrimSpace(inner[:found[0].start]) != "" {
		return text
	}
	if strings.Count(inner, "```")%2 == 1 {
		inner = strings.TrimSuffix(inner, "```")
	}
	return inner
}
