// Package question reads the questions that makers of tools ask people, and the
// replies.
//
// A question asks for plain fields: text, numbers, yes or no, one of a few values. MCP
// calls that form mode
// (https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation). A chat
// thread has room for no more: a message answers one field, and a message with a line
// for each answers several. The package refuses nested fields and questions for
// secrets before a person sees them.
package question

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"nod/chat"
)

// Field is one thing that is asked for.
type Field struct {
	Name     string
	About    string // the question's description
	Kind     Kind
	Options  []Option // of a Choice
	Required bool
}

// Kind is the kind of a field.
type Kind string

// The kinds of fields.
const (
	Text    Kind = "text"
	Number  Kind = "number"
	Integer Kind = "integer"
	YesNo   Kind = "yes or no"
	Choice  Kind = "choice"
)

// Option is a value of a choice, with its name.
type Option struct{ Value, Title string }

// Bounds of a question. What is more is not asked.
const (
	MostText    = 1500 // bytes of the question
	mostFields  = 10
	mostOptions = 25
	mostWords   = 200 // bytes of a name, an option, or a field's description
	mostSchema  = 16 << 10
	mostReply   = 4000 // bytes of an answer
)

var (
	errDeep   = errors.New("it asks for more than plain fields")
	errMuch   = errors.New("it asks for too much at once")
	errSecret = errors.New("it asks for a secret, such as a password or a key, which has no place in a chat")
)

// schema is the allowed part of a question's schema, or of a field.
type schema struct {
	Type       string          `json:"type"`
	Title      string          `json:"title"`
	About      string          `json:"description"`
	Format     string          `json:"format"`
	Enum       []string        `json:"enum"`
	EnumNames  []string        `json:"enumNames"`
	OneOf      []constant      `json:"oneOf"`
	AnyOf      json.RawMessage `json:"anyOf"`
	AllOf      json.RawMessage `json:"allOf"`
	Ref        string          `json:"$ref"`
	Items      json.RawMessage `json:"items"`
	Required   []string        `json:"required"`
	Properties map[string]json.RawMessage
}

type constant struct {
	Value *string `json:"const"`
	Title string  `json:"title"`
}

// Fields reads the fields of a question, required ones first, each by name. The error
// says why it can't be asked, in words for the tool.
func Fields(raw string) ([]Field, error) {
	if len(raw) > mostSchema {
		return nil, errMuch
	}
	var root schema
	if raw != "" && json.Unmarshal([]byte(raw), &root) != nil {
		return nil, errDeep
	}
	if root.Type != "" && root.Type != "object" || root.composed() || root.OneOf != nil {
		return nil, errDeep
	}
	if len(root.Properties) > mostFields {
		return nil, errMuch
	}
	var out []Field
	for name, raw := range root.Properties {
		f, err := field(name, raw)
		if err != nil {
			return nil, err
		}
		f.Required = slices.Contains(root.Required, name)
		out = append(out, f)
	}
	for _, name := range root.Required {
		if _, ok := root.Properties[name]; !ok {
			return nil, errDeep
		}
	}
	slices.SortFunc(out, func(a, b Field) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

func (s schema) composed() bool {
	return s.AnyOf != nil || s.AllOf != nil || s.Ref != "" || s.Items != nil
}

// plainName is a name that can stand before a colon in a line.
var plainName = regexp.MustCompile(`^[\pL\pN_.$][\pL\pN_.$ -]*$`)

func field(name string, raw json.RawMessage) (Field, error) {
	var s schema
	if json.Unmarshal(raw, &s) != nil || s.composed() || s.Properties != nil || !plainName.MatchString(name) {
		return Field{}, errDeep
	}
	f := Field{Name: name, About: strings.TrimSpace(strings.Join(slices.DeleteFunc([]string{s.Title, s.About}, func(s string) bool { return s == "" }), ": "))}
	if len(name) > mostWords || len(f.About) > 2*mostWords {
		return Field{}, errMuch
	}
	if s.Format == "password" || secret(name) || secret(s.Title) || AsksSecret(s.About) != nil {
		return Field{}, errSecret
	}
	switch options := s.options(); {
	case options != nil && s.Type == "string":
		f.Kind, f.Options = Choice, options
	case options != nil:
		return Field{}, errDeep
	case s.Type == "string":
		f.Kind = Text
	case s.Type == "number":
		f.Kind = Number
	case s.Type == "integer":
		f.Kind = Integer
	case s.Type == "boolean":
		f.Kind = YesNo
	default:
		return Field{}, errDeep
	}
	if len(f.Options) > mostOptions || slices.ContainsFunc(f.Options, func(o Option) bool { return len(o.Value)+len(o.Title) > 2*mostWords }) {
		return Field{}, errMuch
	}
	return f, nil
}

// options are the values of a choice; nil where it is none.
func (s schema) options() []Option {
	var out []Option
	for _, c := range s.OneOf {
		if c.Value == nil {
			return []Option{}
		}
		out = append(out, Option{*c.Value, c.Title})
	}
	for i, v := range s.Enum {
		o := Option{Value: v}
		if i < len(s.EnumNames) {
			o.Title = s.EnumNames[i]
		}
		out = append(out, o)
	}
	return out
}

// secrets match field names that ask for secrets, which nobody should write into a
// chat.
var secrets = regexp.MustCompile(`(?i)(^|[^a-z])(pass ?(word|phrase|code)|secret|api ?key|private ?key|access ?key|pass ?wd|pwd|token|otp|jwt|bearer|(ssh|signing|encryption) ?key|(seed|recovery) ?(phrase|code)|card ?number|credentials?|cvv|cvc|pat|pin)([^a-z]|$)`)

// secretWords match texts that ask for secrets. Names like pin and pat are other words there.
var secretWords = regexp.MustCompile(`(?i)\b(pass ?(word|phrase|code)s?|(api|private|access|ssh|signing|secret|encryption)[ -]keys?|(access|auth|api|bearer|refresh|personal)[ -]tokens?|token|(client|shared)[ -]secrets?|credentials?|seed phrase|card number|cvv|otp|(one[- ]time|verification|recovery|backup|2fa|mfa)[ -]codes?)\b`)

// AsksSecret says whether a text asks for a secret.
func AsksSecret(text string) error {
	if secretWords.MatchString(read(text)) {
		return errSecret
	}
	return nil
}

// alike gives the letters for which others pass.
var alike = strings.NewReplacer("а", "a", "с", "c", "ԁ", "d", "е", "e", "ε", "e", "і", "i", "ι", "i", "к", "k", "κ", "k", "ո", "n", "о", "o", "ο", "o", "р", "p", "ρ", "p", "ѕ", "s", "ѡ", "w", "ԝ", "w", "у", "y", "А", "A", "К", "K", "О", "O", "Р", "P", "Ѕ", "S", "Т", "T")

// read is a text as a person reads it: without hidden characters, and in plain letters.
func read(text string) string {
	return alike.Replace(strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		case r >= 0xFF01 && r <= 0xFF5E: // full width
			return r - 0xFEE0
		}
		return r
	}, text))
}

var wordEnds = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func secret(name string) bool {
	name = wordEnds.ReplaceAllString(read(name), "$1 $2")
	return secrets.MatchString(strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(name))
}

// Describe lists the fields, a line each, in visible characters only.
func Describe(fields []Field) string {
	var lines []string
	for _, f := range fields {
		line := f.Name + ": "
		switch f.Kind {
		case Choice:
			var names []string
			for _, o := range f.Options {
				names = append(names, o.shown())
			}
			line += "one of " + strings.Join(names, ", ")
		case Number, Integer:
			line += "a number"
		default:
			line += string(f.Kind)
		}
		if !f.Required {
			line += " (may be left out)"
		}
		if f.About != "" {
			line += ". " + strings.Join(strings.Fields(f.About), " ")
		}
		lines = append(lines, chat.Visible(line))
	}
	return strings.Join(lines, "\n")
}

func (o Option) shown() string {
	if o.Title == "" || o.Title == o.Value {
		return o.Value
	}
	return fmt.Sprintf("%s (%s)", o.Value, o.Title)
}
