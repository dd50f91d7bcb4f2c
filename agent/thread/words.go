package thread

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"nod/chat"
	"nod/chat/vocabulary"
)

// ballot is a decision that somebody wrote as a message of its own: `y`, `n`, each
// with the number of an approval while several wait, and why not: `n 2 too late`, or
// `n too late` while one waits.
type ballot struct {
	no     bool
	number int // 0: none was given
	why    string
}

// parseBallot reads a text that may be a decision; whether it is one hangs on what
// waits for one.
func parseBallot(text string) (b ballot, ok bool) {
	if len(text) > mostCommand {
		return ballot{}, false
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch strings.ToLower(word) {
	case "y":
	case "n":
		b.no = true
	default:
		return ballot{}, false
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return b, true
	}
	number, why, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	switch {
	case b.no && err != nil:
		b.why = rest
	case err != nil || n < 1 || !b.no && why != "":
		return ballot{}, false
	default:
		b.number, b.why = n, strings.TrimSpace(why)
	}
	return b, true
}

// mostChange is how long a command that holds arguments may be, in bytes.
const mostChange = 64 << 10

// parseChange reads `edit 1 {"service":"web"}`: a command only when a JSON object
// follows, or what was meant to be one.
func parseChange(text string) (number int, object string, ok bool) {
	if len(text) > mostChange {
		return 0, "", false
	}
	text = strings.TrimSpace(text)
	head, _, found := strings.Cut(text, "{")
	if verb := firstWord(head); !found || !strings.EqualFold(verb, "edit") {
		return 0, "", false
	}
	words := strings.Fields(strings.ReplaceAll(head, "```json", "```"))[1:]
	if len(words) > 0 && strings.Trim(words[0], "`") != "" {
		n, err := strconv.Atoi(strings.Trim(words[0], "`"))
		if err != nil || n < 1 {
			return 0, "", false
		}
		number, words = n, words[1:]
	}
	if strings.Trim(strings.Join(words, ""), "`") != "" {
		return 0, "", false
	}
	object = typedObject(text[len(head):])
	return number, object, meantAsObject(object)
}

func IsObject(s string) bool {
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// aboutCards says whether a text is a word about an approval, and about which; 0 is the
// one that waits.
func aboutCards(text string) (number int, ok bool) {
	if b, ok := parseBallot(text); ok {
		return b.number, true
	}
	if number, _, ok := parseChange(text); ok {
		return number, true
	}
	if word, arg, ok := ParseCommand(text); ok && word == "allow" {
		number, _, ok = parseAllow(arg)
		return number, ok
	}
	return 0, false
}

// parseAllow reads `1 1h`, `1 5x`, `1h` or `5x`. Number 0 is the one that waits.
func parseAllow(arg string) (number int, terms chat.Grant, ok bool) {
	fields := strings.Fields(arg)
	if len(fields) == 2 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 1 {
			return 0, terms, false
		}
		number, fields = n, fields[1:]
	}
	if len(fields) != 1 {
		return 0, terms, false
	}
	text := strings.ToLower(fields[0])
	if uses, isCount := strings.CutSuffix(text, "x"); isCount {
		n, err := strconv.Atoi(uses)
		terms.Uses = n
		return number, terms, err == nil && n > 0
	}
	long, err := time.ParseDuration(text)
	terms.For = long
	return number, terms, err == nil && long > 0
}

// Number reads the number of a call; 0 for what is none.
func Number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// People may call a tool themselves: `run NAME {…}`. Such a call is the first step
// of a turn of its own, whose requester they are, and which ends with the call's
// result instead of an answer: no model is asked. All else is as for any call: what
// it may do, who is asked before, and what is said of it afterwards. The model sees
// it in later turns, and that it was not its own.
//
// A turn that runs is not disturbed: the order waits, and what is said behind it
// waits with it, so that all goes on in the order in which it was said.

// Order is a call that somebody wants.
type Order struct {
	Tool, Args string
	Of         string // the call that it is made of, by its id
}

// parseRun reads `run NAME {…}`: an order only when a JSON object follows the name,
// or what was meant to be one.
func parseRun(text string) (o Order, ok bool) {
	if len(text) > mostChange {
		return Order{}, false
	}
	text = strings.TrimSpace(text)
	head, _, found := strings.Cut(text, "{")
	if verb := firstWord(head); !found || !strings.EqualFold(verb, "run") {
		return Order{}, false
	}
	words := strings.Fields(strings.ReplaceAll(head, "```json", "```"))
	if len(words) < 2 || len(words) > 3 || len(words) == 3 && strings.Trim(words[2], "`") != "" {
		return Order{}, false
	}
	o.Tool = strings.Trim(words[1], "`")
	o.Args = typedObject(text[len(head):])
	return o, o.Tool != "" && meantAsObject(o.Args)
}

// typedObject is a JSON object as somebody typed it, perhaps as code.
func typedObject(text string) string {
	text = strings.TrimSpace(strings.TrimRight(text, "` \t\r\n"))
	if !json.Valid([]byte(text)) { // keyboards of phones make their own quotes
		if plain := straight.Replace(text); json.Valid([]byte(plain)) {
			return plain
		}
	}
	return text
}

var straight = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`)

// meantAsObject says whether a text is a JSON object, or begins like one.
func meantAsObject(text string) bool {
	rest := strings.TrimSpace(strings.TrimPrefix(text, "{"))
	return IsObject(text) || strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "“") || strings.HasPrefix(rest, "'")
}

// mostCommand is the longest that a vote by word can be, in bytes.
const mostCommand = 300

// firstWord is the first word of a text that begins with one.
func firstWord(text string) string {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i]
	}
	return text
}

// ParseCommand reads a text that is only a word of the table.
func ParseCommand(text string) (name, arg string, ok bool) {
	name, arg, ok = vocabulary.Parse(text)
	if name == "allow" {
		_, _, ok = parseAllow(arg)
	}
	return name, arg, ok
}
