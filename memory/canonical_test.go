package memory

import "testing"

// The one form of RFC 8785: its own examples, and what two readers could take for
// two things.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{ "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }`:                           `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		`[-0, 1.0, 9007199254740993, {}, [], "<>&\u2028"]`: "[0,1,9007199254740992,{},[],\"<>&\u2028\"]",
	} {
		got, err := Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("Canonical(%s)\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `{"a":1,"a":2}`, `{} {}`, "\"\xff\"", `[1e999]`, `[1,]`, `nul`} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("Canonical(%q) = %s, want an error", in, got)
		}
	}
}
