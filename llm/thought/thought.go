// Package thought parts the thoughts of a completion from its answer, for servers that
// leave both in one text.
//
// Thoughts stand between two tags, at any place outside of code. A chat template may
// write the opening tag into the prompt. Then only a closing one comes, and all text
// before it was a thought. A text that streams in pieces may have been shown by then, so
// it is taken back.
package thought

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tags are the tags around thoughts, in any letter case.
var tags = []struct{ open, close string }{
	{"<think>", "</think>"},                        // DeepSeek-R1, Qwen3, GLM: https://api-docs.deepseek.com/guides/reasoning_model
	{"<thinking>", "</thinking>"},                  // Claude's prompts: https://docs.anthropic.com/en/docs/build-with-claude/prompt-engineering/chain-of-thought
	{"<antthinking>", "</antthinking>"},            // Claude's own
	{"<thought>", "</thought>"},                    // Gemini: https://ai.google.dev/gemini-api/docs/openai#thinking
	{"<thoughts>", "</thoughts>"},                  // prompts in the same manner
	{"<reasoning>", "</reasoning>"},                // https://openrouter.ai/docs/use-cases/reasoning-tokens
	{"<reflection>", "</reflection>"},              // https://huggingface.co/mattshumer/Reflection-Llama-3.1-70B
	{"<scratchpad>", "</scratchpad>"},              // Hermes 3: https://arxiv.org/abs/2408.11857
	{"<seed:think>", "</seed:think>"},              // https://huggingface.co/ByteDance-Seed/Seed-OSS-36B-Instruct
	{"<longcat_think>", "</longcat_think>"},        // https://huggingface.co/meituan-longcat/LongCat-Flash-Thinking
	{"[think]", "[/think]"},                        // https://huggingface.co/mistralai/Magistral-Small-2507
	{"◁think▷", "◁/think▷"},                        // https://huggingface.co/moonshotai/Kimi-VL-A3B-Thinking
	{"<|begin_of_thought|>", "<|end_of_thought|>"}, // https://huggingface.co/NovaSky-AI/Sky-T1-32B-Preview
	{"<|inner_prefix|>", "<|inner_suffix|>"},       // https://huggingface.co/swiss-ai/Apertus-70B-Instruct-2509
	{"<|channel>thought", "<channel|>"},            // Gemma 4: https://ai.google.dev/gemma/docs/capabilities/thinking
	{"<unused94>", "<unused95>"},                   // https://huggingface.co/google/medgemma-27b-text-it
	{"[unused16]", "[unused17]"},                   // https://huggingface.co/FreedomIntelligence/openPangu-Embedded-7B
	{"<|think|>", "<|/think|>"},                    // https://huggingface.co/upstage/Solar-Open-100B, closed by <|end|>
	{"<|start_thinking|>", "<|end_thinking|>"},     // https://docs.cohere.com/docs/command-a-reasoning
}

// channel matches the head of a message in the format of gpt-oss, which says whether it is
// a thought, a call or the answer: https://cookbook.openai.com/articles/openai-harmony
const channel = `(?:<\|start\|>[^<]*)?<\|channel\|>([^<]+)(?:<\|constrain\|>[^<]*)?<\|message\|>`

// silent matches marks around an answer. The last two are heads and an end without tokens.
const silent = `<\|(?:end|return|start_response|end_response|begin_of_solution|end_of_solution|content)\|>|<\|(?:start|begin)\|>assistant|assistantfinal|assistantcommentary`

// frames matches an element around an answer: Hunyuan, GLM, Granite. It is text, unless it
// stands right behind thoughts.
const frames = `</?(?:answer|response)>`

// The groups of signs.
const (
	codeSign = iota + 1
	openSign
	closeSign
	channelSign
	channelName
	silentSign
	frameSign
)

// signs matches all that may change the meaning of the text behind it, at the beginning of
// a text, and opens an opening tag anywhere.
var signs, opens = func() (at, anywhere *regexp.Regexp) {
	var opening, closing []string
	for _, t := range tags {
		open, end := regexp.QuoteMeta(t.open), regexp.QuoteMeta(t.close)
		if strings.HasPrefix(t.close, "</") {
			open, end = strings.TrimSuffix(open, ">")+`(?:\s[^<>]*)?/?>`, strings.TrimSuffix(end, ">")+`\s*>`
		}
		opening, closing = append(opening, open), append(closing, end)
	}
	open := "(" + strings.Join(opening, "|") + ")"
	return regexp.MustCompile("(?i)^(?:(`+|~{3,})|" + open + "|(" + strings.Join(closing, "|") + ")|(" + channel + ")|(" + silent + ")|(" + frames + "))"), regexp.MustCompile("(?i)" + open)
}()

// Splitter parts a text that comes in pieces. It tells Out each decided part, and holds
// back only what may become a sign, or code. back says that the answer up to here was a
// thought; it comes alone.
type Splitter struct {
	Out func(answer, thought string, back bool)

	held   string
	inside bool   // of a thought
	opened bool   // a thought was, at some place
	bare   bool   // the text begins as a channel does that lost its tokens
	begun  bool   // some of the text is decided
	said   bool   // some of it is an answer
	spaced bool   // the answer is empty or ends with white space
	tail   string // of the text, two characters and more
	skips  bool   // white space, behind a tag
	inLine bool   // its line has something before
	fence  string // the opening marks of the block of code that is open
	tagged bool   // the block has an opening tag
	framed bool   // the answer stands in an element
}

// Split parts a whole text.
func Split(text string) (answer, thought string) {
	s := Splitter{Out: func(a, th string, back bool) {
		if back {
			answer, thought = "", thought+answer
		}
		answer, thought = answer+a, thought+th
	}}
	s.Feed(text)
	s.Flush()
	return answer, thought
}

// Feed takes a piece.
func (s *Splitter) Feed(piece string) {
	s.held += piece
	s.read(false)
}

// Flush ends the text.
func (s *Splitter) Flush() { s.read(true) }

// read decides as much as it can of the held text.
func (s *Splitter) read(last bool) {
	for s.held != "" {
		n := len(s.held)
		if s.fence != "" {
			s.readLine(last)
		} else {
			s.readSign(last)
		}
		if len(s.held) == n {
			return
		}
	}
}

// readSign decides the text up to the next sign, and the sign.
func (s *Splitter) readSign(last bool) {
	if !s.begun {
		if !last && strings.HasPrefix("analysis", s.held) {
			return
		}
		s.bare, s.spaced = strings.HasPrefix(s.held, "analysis"), true
	}
	i := s.candidate()
	lead, held := s.held[:i], s.held[i:]
	if !s.begun && strings.TrimSpace(lead) == "" {
		if held == "" && !last {
			return
		}
	} else if i > 0 {
		s.pass(i)
		return
	}
	at := signs.FindStringSubmatchIndex(held)
	if (at == nil || at[1] == len(held)) && !last && len(held) <= longest && begins(strings.ToLower(held)) {
		return
	}
	if at != nil && at[2*closeSign] >= 0 && !last && utf8.RuneCountInString(held[at[1]:]) < 2 { // see quoted
		return
	}
	if at == nil || at[1] > longest {
		_, n := utf8.DecodeRuneInString(held)
		if at != nil && at[2*codeSign] == 0 {
			n = at[1] // a line of marks
		}
		s.pass(i + n)
		return
	}
	sign := func(group int) string { return held[max(at[2*group], 0):max(at[2*group+1], 0)] }
	if marks := sign(codeSign); marks != "" {
		s.pass(i)
		s.readCode(marks, last)
		return
	}
	s.held, s.begun = held[at[1]:], true
	name := strings.Fields(strings.ToLower(sign(channelName)) + " -")[0]
	switch text := strings.ToLower(sign(silentSign)); {
	case name == "commentary" && strings.Contains(sign(channelName), "to="):
		s.end()
		s.put(sign(channelSign))
	case sign(frameSign) != "":
		s.frame(sign(frameSign))
	case name == "final", strings.HasPrefix(text, "assistant"):
		if text == "assistantcommentary" && s.bare {
			s.close(!s.opened)
			s.put("<|channel|>commentary")
		} else if text != "" && !s.bare {
			s.put(sign(silentSign))
		} else {
			s.close(!s.opened)
		}
	case name == "analysis", sign(openSign) != "" && !strings.HasSuffix(sign(openSign), "/>"):
		s.open()
	case sign(closeSign) != "" && s.quoted():
		s.put(sign(closeSign))
	case sign(closeSign) != "":
		s.close(true)
	case s.inside || sign(channelSign) != "":
		s.end()
	}
}

// frame reads an element around the answer.
func (s *Splitter) frame(sign string) {
	if opens := sign[1] != '/'; s.inside || !s.opened || s.said == opens || s.framed == opens {
		s.put(sign)
		return
	}
	s.framed = !s.framed
	s.skips = s.spaced
}

// quotes are the pairs of marks between which a closing tag is spoken of.
var quotes = []string{`""`, "''", "“”", "‘’", "«»", "()"}

// quoted says whether the sign that was just read stands between two such marks, the first
// of which opens a word, or within a sentence, in a text without thoughts.
func (s *Splitter) quoted() bool {
	if s.inside || s.opened {
		return false
	}
	next, size := utf8.DecodeRuneInString(s.held)
	word, spaced := strings.CutSuffix(s.tail, " ")
	last, _ := utf8.DecodeLastRuneInString(word)
	if then, _ := utf8.DecodeRuneInString(s.held[size:]); spaced && unicode.IsLetter(last) && next == ' ' && unicode.IsLower(then) {
		return true
	}
	mark, n := utf8.DecodeLastRuneInString(s.tail)
	before := s.tail[:len(s.tail)-n]
	return slices.Contains(quotes, string([]rune{mark, next})) && strings.TrimRight(before, " \t\n(") != before
}

// longest is how much of a line is held back, in bytes.
const longest = 400

// candidate is where the next sign may begin.
func (s *Splitter) candidate() int {
	for i := range len(s.held) {
		if strings.IndexByte("<[`~\xe2", s.held[i]) >= 0 || s.bare && s.held[i]|' ' == 'a' {
			return i
		}
	}
	return len(s.held)
}

// begins says whether a text may go on to be a sign.
func begins(text string) bool {
	if strings.Trim(text, "`") == "" || strings.Trim(text, "~") == "" || strings.HasPrefix("assistantfinal", text) || strings.HasPrefix("assistantcommentary", text) {
		return true
	}
	for _, frame := range []string{"<answer>", "</answer>", "<response>", "</response>"} {
		if strings.HasPrefix(frame, text) {
			return true
		}
	}
	for _, head := range []string{"<|start|>", "<|begin|>", "<|channel|>"} {
		if strings.HasPrefix(text, head) && !strings.Contains(text, "<|message|>") {
			return true
		}
	}
	for _, t := range tags {
		for _, tag := range []string{t.open, t.close} {
			name := strings.TrimSuffix(tag, ">")
			if strings.HasPrefix(tag, text) || strings.HasPrefix(text, name) && !strings.ContainsAny(text[len(name):], "<>") {
				return true
			}
		}
	}
	return strings.HasPrefix(text, "<|") && !strings.Contains(text, "|>")
}

// readCode decides code within a line, or the first line of a block.
func (s *Splitter) readCode(marks string, last bool) {
	line, _, whole := strings.Cut(s.held, "\n")
	if len(line) > longest {
		line, whole = line[:longest], true
	}
	rest := line[len(marks):]
	end := -1
	for from := 0; end < 0; {
		i := strings.Index(rest[from:], marks)
		if i < 0 {
			break
		}
		from += i
		run := len(rest[from:]) - len(strings.TrimLeft(rest[from:], marks[:1]))
		if run == len(marks) && (whole || last || from+run < len(rest)) {
			end = len(marks) + from + run
		}
		from += run
	}
	switch {
	case marks[0] == '`' && end >= 0 && !s.inside:
		s.pass(end)
	case !whole && !last:
	case len(marks) >= 3 && !s.inLine && !s.inside && !strings.Contains(rest, "`"):
		s.fence, s.tagged = marks, false
		s.pass(min(len(line)+1, len(s.held)))
	default:
		s.pass(len(marks))
	}
}

// readLine decides a line of a block of code. A closing tag that has a line for itself is
// code only in a block that has an opening one.
func (s *Splitter) readLine(last bool) {
	line, _, whole := strings.Cut(s.held, "\n")
	if !whole && !last {
		if s.inLine || len(line) > longest {
			s.pass(len(line))
		}
		return
	}
	bare := strings.TrimSpace(line)
	at := signs.FindStringSubmatchIndex(bare)
	switch {
	case s.inLine:
	case bare != "" && strings.Trim(bare, s.fence[:1]) == "" && len(bare) >= len(s.fence):
		s.fence = ""
	case at != nil && at[2*closeSign] >= 0 && at[1] == len(bare) && !s.tagged:
		s.fence, s.held = "", s.held[len(line):]
		s.close(true)
		return
	case opens.MatchString(bare):
		s.tagged = true
	}
	s.pass(min(len(line)+1, len(s.held)))
}

// pass gives out the first n bytes of the held text.
func (s *Splitter) pass(n int) {
	text := s.held[:n]
	s.held = s.held[n:]
	s.put(text)
}

// put gives out a text.
func (s *Splitter) put(text string) {
	s.tail += text[max(0, len(text)-2*utf8.UTFMax):]
	s.tail = s.tail[max(0, len(s.tail)-2*utf8.UTFMax):]
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		s.inLine = strings.TrimSpace(text[i:]) != ""
	} else {
		s.inLine = s.inLine || strings.TrimSpace(text) != ""
	}
	if s.skips {
		text = strings.TrimLeft(text, " \t\r\n")
	}
	if text == "" {
		return
	}
	s.begun, s.skips = true, false
	if s.inside {
		s.Out("", text, false)
		return
	}
	s.said = s.said || strings.TrimSpace(text) != ""
	s.spaced = strings.TrimRight(text, " \t\r\n") != text
	s.Out(text, "", false)
}

// open begins a thought.
func (s *Splitter) open() {
	if s.opened && !s.inside {
		s.Out("", "\n", false)
	}
	s.inside, s.opened, s.skips = true, true, true
}

// close ends a thought. Without one, all before it was a thought if stray says so.
func (s *Splitter) close(stray bool) {
	if stray && !s.inside && s.said {
		s.Out("", "", true)
		s.said, s.spaced, s.opened = false, true, true
	}
	s.end()
}

func (s *Splitter) end() {
	s.inside, s.bare, s.skips = false, false, s.spaced
}
