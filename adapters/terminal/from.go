package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nod/chat"
	"nod/front"
)

// ask is an approval that waits, under the number by which it is answered. A
// number is not given again while the program runs: a `y 1` that comes too
// late must not approve something else.
type ask struct {
	number int
	ref    chat.MessageRef
	want   chat.Approval
	mine   string // the emoji that the person put on it last
	left   bool   // it was told that nobody is here to decide it
}

// intent is what a line means; one of the fields is set, none for a line that
// means nothing.
type intent struct {
	message string
	attach  string // the path of a file
	vote    *vote
	halt    bool
	say     string // the line can't be acted on: what to tell the person
}

// vote is an emoji for an approval, or one taken back.
type vote struct {
	on     *ask
	verb   front.Verb // Approve or Deny; "" takes the emoji back
	emoji  string
	reason string // why a call is denied; may be empty
}

// parse says what a line means while these approvals wait. Only a line that
// is a decision and nothing else decides; any other is a message.
func parse(text string, open []*ask) intent {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if text == "" {
		return intent{}
	}
	words := strings.Fields(text)
	if len(words) == 1 && chat.NormalEmoji(text) == chat.EmojiStop {
		return intent{halt: true}
	}
	if path, ok := parseAttach(text); ok {
		return intent{attach: path}
	}
	if len(open) == 0 {
		return intent{message: text}
	}
	coded := func(a *ask) bool { return chat.NeedsCode(a.want.Ways) }
	if word, ok := chat.WithoutCode(text); ok && slices.ContainsFunc(open, coded) {
		return intent{say: "a code is not kept in a line: write " + word + ", and it is asked for where one is needed"}
	}
	if v := parseReason(text, words, open); v != nil {
		return intent{vote: v}
	}
	if len(words) > 3 {
		return intent{message: text}
	}
	if len(words) > 1 && strings.EqualFold(words[0], "take") && strings.EqualFold(words[1], "back") {
		return parseBack(text, words[2:], open)
	}
	return parseVote(text, words, open)
}

func parseVote(text string, words []string, open []*ask) intent {
	decides := func(a *ask) bool { return decide(words[0], a) != nil }
	if len(words) > 2 || !slices.ContainsFunc(open, decides) {
		return intent{message: text}
	}
	a, in := choose(text, words[1:], open, words[0])
	if a == nil {
		return in
	}
	v := decide(words[0], a)
	if v == nil {
		return intent{say: fmt.Sprintf("%s does not decide approval %d; %s.", cleanLine(words[0]), a.number, howTo(a))}
	}
	return intent{vote: v}
}

// parseReason reads a denial with a reason: n 1 too late in the day. It needs the
// number, since a message may begin with no.
func parseReason(text string, words []string, open []*ask) *vote {
	if len(words) < 3 {
		return nil
	}
	n, err := strconv.Atoi(words[1])
	i := slices.IndexFunc(open, func(a *ask) bool { return a.number == n })
	if err != nil || i < 0 {
		return nil
	}
	v := decide(words[0], open[i])
	if v == nil || v.verb != front.Deny {
		return nil
	}
	_, reason, _ := strings.Cut(strings.TrimSpace(text), words[0])
	_, reason, _ = strings.Cut(reason, words[1])
	v.reason = strings.TrimSpace(reason)
	return v
}

func parseBack(text string, number []string, open []*ask) intent {
	a, in := choose(text, number, open, "take back")
	switch {
	case a == nil:
		return in
	case a.mine == "":
		return intent{say: fmt.Sprintf("There is nothing of yours to take back on approval %d.", a.number)}
	}
	return intent{vote: &vote{on: a, emoji: a.mine}}
}

// choose finds the approval that a line is about: the one with the number, or
// the only one. Words that are no number make the line a message.
func choose(text string, number []string, open []*ask, word string) (*ask, intent) {
	if len(number) == 0 {
		if len(open) == 1 {
			return open[0], intent{}
		}
		return nil, intent{say: fmt.Sprintf("Several approvals wait: %s. Answer with the number, as in: %s %d",
			list(open), cleanLine(word), open[0].number)}
	}
	n, err := strconv.Atoi(number[0])
	if err != nil {
		return nil, intent{message: text}
	}
	i := slices.IndexFunc(open, func(a *ask) bool { return a.number == n })
	if i < 0 {
		return nil, intent{say: fmt.Sprintf("Approval %d is not open. Open: %s", n, list(open))}
	}
	return open[i], intent{}
}

// list names the approvals that wait.
func list(open []*ask) string {
	parts := make([]string, len(open))
	for i, a := range open {
		parts[i] = fmt.Sprintf("%d %s", a.number, cleanLine(a.want.Tool))
	}
	return strings.Join(parts, ", ")
}

// decide is the vote that a word is on an approval; nil: it is none.
func decide(word string, a *ask) *vote {
	emoji := chat.NormalEmoji(word)
	same := func(s string) bool { return chat.NormalEmoji(s) == emoji }
	yes, no := first(a.want.Approve), first(a.want.Deny)
	switch word = strings.ToLower(word); {
	case yes != "" && (word == "y" || word == "yes"):
		return &vote{on: a, verb: front.Approve, emoji: yes}
	case no != "" && (word == "n" || word == "no"):
		return &vote{on: a, verb: front.Deny, emoji: no}
	case slices.ContainsFunc(a.want.Deny, same):
		return &vote{on: a, verb: front.Deny, emoji: emoji}
	case slices.ContainsFunc(a.want.Approve, same):
		return &vote{on: a, verb: front.Approve, emoji: emoji}
	}
	return nil
}

// first gives the first emoji of a list in normal form; "" for an empty one.
func first(emoji []string) string {
	if len(emoji) == 0 {
		return ""
	}
	return chat.NormalEmoji(emoji[0])
}

// paragraph puts the lines of one message together: a line that ends in a
// backslash, or one that was pasted whole, goes on in the next line.
type paragraph struct{ lines []string }

// add takes a line; done says that the message is complete.
func (p *paragraph) add(l typed) (text string, done bool) {
	s, more := l.text, l.pasted
	if cut, ok := strings.CutSuffix(s, `\`); ok && !more && !strings.HasSuffix(cut, `\`) {
		s, more = cut, true
	}
	p.lines = append(p.lines, s)
	if more {
		return "", false
	}
	return p.rest(), true
}

// open says whether a message was begun and not ended.
func (p *paragraph) open() bool { return len(p.lines) > 0 }

// rest gives what there is, and starts afresh.
func (p *paragraph) rest() string {
	text := strings.Join(p.lines, "\n")
	p.lines = nil
	return text
}
