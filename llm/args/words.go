package args

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Limits on the part of a schema that the model is told. A message that lists a
// thousand countries helps nobody.
const (
	maxListed   = 20
	maxBranches = 5
	maxShown    = 200 // bytes of one value
)

// describe puts a tree of violations into words, one for each leaf. s may be
// nil where it is not a tool's arguments that were checked.
func (s *Schema) describe(e *jsonschema.ValidationError) []string {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) > 0 {
			return []string{s.alternatives(e)}
		}
	}
	if len(e.Causes) == 0 {
		return s.leaf(e)
	}
	var out []string
	for _, cause := range e.Causes {
		out = append(out, s.describe(cause)...)
	}
	return out
}

// alternatives joins the reasons why a value fits none of several schemas.
func (s *Schema) alternatives(e *jsonschema.ValidationError) string {
	var ways []string
	for i, branch := range e.Causes {
		if i == maxBranches {
			ways = append(ways, "…")
			break
		}
		ways = append(ways, "("+strings.Join(s.describe(branch), " and ")+")")
	}
	return place(e.InstanceLocation) + "fits none of what is allowed: " + strings.Join(ways, " or ")
}

func (s *Schema) leaf(e *jsonschema.ValidationError) []string {
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(at, k.Missing, "is missing")
	case *kind.AdditionalProperties:
		return each(at, k.Properties, s.unknownName(at))
	case *kind.FalseSchema:
		return []string{place(at) + s.unknownName(at[:max(len(at)-1, 0)])}
	}
	return []string{place(at) + requirement(e.ErrorKind)}
}

// unknownName says that a name is not among those of the object at path.
func (s *Schema) unknownName(at []string) string {
	if s == nil || len(at) > 0 {
		return "is not allowed here"
	}
	if len(s.names) == 0 {
		return "is not a parameter; there are none"
	}
	return "is not a parameter; there are " + strings.Join(s.names[:min(len(s.names), maxListed)], ", ")
}

func each(at, names []string, words string) []string {
	var out []string
	for _, name := range names {
		out = append(out, place(append(at[:len(at):len(at)], name))+words)
	}
	return out
}

// requirement describes the right value.
func requirement(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "must be " + oneOf(k.Want)
	case *kind.Const:
		return "must be " + show(k.Want)
	case *kind.Format:
		return "must be a valid " + k.Want
	case *kind.Pattern:
		return "must match the pattern " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, not %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, not %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, not %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, not %d", k.Want, k.Got)
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("must not hold an item twice, as %d and %d are", k.Duplicates[0], k.Duplicates[1])
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

func oneOf(want []any) string {
	if len(want) == 1 {
		return show(want[0])
	}
	var shown []string
	for i, v := range want {
		if i == maxListed {
			shown = append(shown, fmt.Sprintf("… (%d more)", len(want)-i))
			break
		}
		shown = append(shown, show(v))
	}
	return "one of " + strings.Join(shown, ", ")
}

func show(v any) string {
	raw, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(raw) > maxShown {
		return strings.ToValidUTF8(string(raw[:maxShown]), "") + "…"
	}
	return string(raw)
}

// decimal writes a limit as people do; limits of schemas are decimals.
func decimal(r *big.Rat) string {
	n, exact := r.FloatPrec()
	if !exact {
		return r.RatString()
	}
	return r.FloatString(n)
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// place is the JSON Pointer of a value (RFC 6901) with a colon, nothing for
// the whole.
func place(at []string) string {
	if len(at) == 0 {
		return ""
	}
	var out strings.Builder
	for _, part := range at {
		out.WriteString("/" + pointer.Replace(part))
	}
	return out.String() + ": "
}
