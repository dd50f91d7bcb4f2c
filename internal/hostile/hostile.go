// Package hostile puts texts that are meant to ring, or to lead elsewhere, into the
// posts of tests.
package hostile

import (
	"reflect"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

// Poison puts such texts in the place of those that a pointer leads to, but for ids.
func Poison(t *rapid.T, p any) {
	poison(reflect.ValueOf(p).Elem(), func() string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4).Draw(t, "text"), "")
	})
}

// pieces are parts of texts that are meant to ring, or to lead elsewhere.
var pieces = []string{
	"<!channel>", "<@U0EVE>", "<!subteam^S0EVE>", "<#C0EVE>", "[x](!channel)", "[x](@U0EVE)", "[x](<!here>)", "![x](!here)",
	"[x][1]\n\n[1]: !here\n", "<javascript:a|x>", "<discord://a>", "[x](discord://a)", "[x](javascript:a)", "&lt;!channel&gt;", "<!here|x>", "a", "*", "_", "~", "\\", "]", "(", "<", "|", "\n", "# ", "> ", "- ", "`",
}

// trusted are fields that hold words of the file or of the program.
var trusted = []string{"Approvers", "Approve", "Deny", "Exclude", "Digest", "Call", "Turn", "Parameters", "Ref", "Card", "Home", "Thread", "Key"}

// poison replaces the texts of a value.
func poison(v reflect.Value, text func() string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			poison(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(trusted, f.Name) && f.Type != reflect.TypeFor[map[string]any]() {
				poison(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), text)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.Len() > 0 && v.CanSet() {
			v.SetString(text())
		}
	}
}

// LeadsAstray says whether Markdown holds a link that is neither http nor mailto. In code
// there is none.
func LeadsAstray(md string) (found bool) {
	source := []byte(md)
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(n ast.Node, in bool) (ast.WalkStatus, error) {
		switch l := n.(type) {
		case *ast.Link:
			found = found || Strange(string(l.Destination))
		case *ast.AutoLink:
			found = found || Strange(string(l.URL(source)))
		}
		return ast.WalkContinue, nil
	})
	return found
}

// Strange says whether an address is neither http nor mailto.
func Strange(url string) bool {
	return !strings.HasPrefix(url, "http") && !strings.HasPrefix(url, "mailto:")
}
