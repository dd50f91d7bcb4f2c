// Package incidents says what becomes of alerts: which of them is about which incident,
// which incident begins a turn, which waits, and which is only counted. It decides by the
// log of an alert, in which all deliveries of all processes stand in one order. So counts
// are right on any number of processes, and over a crash.
package incidents

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"nod/agent/phrase"
	"nod/chat"
)

// Platform is the platform in the ids of the logs of alerts. No thread of people has it.
const Platform = "alert"

// Rules are the configuration of an alert.
type Rules struct {
	Name  string
	Bot   string // the bot whose messages are alerts, slack:ID or discord:ID; "": POSTs are
	In    string // the channel in which the thread of a POST begins, likewise
	Match *regexp.Regexp
	Over  *regexp.Regexp // says that an incident is over; nil: no text does
	Ask   string
	Same  string // the text that tells incidents apart, with {NAME} in it
	Quiet time.Duration
	Late  time.Duration
	Most  int // turns an hour
}

// Log is the thread that is the log of the alert.
func (r Rules) Log() chat.ThreadID { return chat.ThreadID{Platform: Platform, Channel: r.Name} }

// Came is an alert as it came.
type Came struct {
	Text     string
	Labels   map[string]string // of a POST
	Resolved bool              // the sender says so
}

// Bounds of texts, in bytes but for the first.
const (
	mostKey  = 200 // characters
	mostBody = 8 << 10
)

// Incident says which incident an alert is about, and whether it is over. An empty key of
// one that is over leaves open which it is. ok is false for a text that is no alert.
func (r Rules) Incident(c Came) (key string, over, ok bool) {
	over = c.Resolved || r.Over != nil && r.Over.MatchString(c.Text)
	values := map[string]string{}
	for name, value := range c.Labels {
		values["labels."+name] = value
	}
	matched := named(r.Match, c.Text, values)
	if over && !matched {
		matched = named(r.Over, c.Text, values)
	}
	if !matched && !over {
		return "", false, false
	}
	key, whole := r.key(c, values)
	if over && !whole {
		key = ""
	}
	return key, over, true
}

// named adds the named groups of a match. A text always matches no expression.
func named(re *regexp.Regexp, text string, values map[string]string) bool {
	if re == nil {
		return true
	}
	m := re.FindStringSubmatch(text)
	for i, name := range re.SubexpNames() {
		if m != nil && name != "" {
			values[name] = m[i]
		}
	}
	return m != nil
}

// key is the text that names the incident. whole says that every name in it has a value.
func (r Rules) key(c Came, values map[string]string) (key string, whole bool) {
	whole = true
	switch {
	case r.Same != "":
		key = names.ReplaceAllStringFunc(r.Same, func(name string) string {
			value, there := values[name[1:len(name)-1]]
			whole = whole && there
			return value
		})
	case len(c.Labels) > 0:
		for _, name := range slices.Sorted(maps.Keys(c.Labels)) {
			key += name + "=" + c.Labels[name] + " "
		}
	default:
		key, whole = c.Text, r.Over == nil || !r.Over.MatchString(c.Text)
	}
	if runes := []rune(strings.TrimSpace(key)); len(runes) > mostKey {
		return string(runes[:mostKey]), whole
	}
	return strings.TrimSpace(key), whole
}

// names finds the names in [Rules].Same. One without a value counts as empty.
var names = regexp.MustCompile(`\{[A-Za-z0-9_.-]+\}`)

// tellsOf says whether a text that says only that something is over holds each value of an
// incident's key as a word.
func (r Rules) tellsOf(text, key string) bool {
	var pattern strings.Builder
	last := 0
	for _, at := range names.FindAllStringIndex(r.Same, -1) {
		pattern.WriteString(regexp.QuoteMeta(r.Same[last:at[0]]) + "(.*?)")
		last = at[1]
	}
	if last == 0 {
		return false
	}
	parts := regexp.MustCompile(`(?s)^` + pattern.String() + regexp.QuoteMeta(r.Same[last:]) + `$`).FindStringSubmatch(key)
	if parts == nil {
		return false
	}
	return !slices.ContainsFunc(parts[1:], func(value string) bool {
		return value == "" || !regexp.MustCompile(`(^|[^\pL\pN_])`+regexp.QuoteMeta(value)+`($|[^\pL\pN_])`).MatchString(text)
	})
}

// Head is the post that begins the thread of an incident.
func (r Rules) Head(key string) string { return "Alert " + r.Name + ": " + phrase.Code(key) }

// Body is the text of an alert, as the model reads it.
func Body(text string) string {
	if len(text) <= mostBody {
		return text
	}
	return strings.ToValidUTF8(text[:mostBody], "") + "\n[… the rest was left out]"
}
