package main

import "testing"

// A person who goes back to a page is the same person there as before.
func TestPageBack(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ada := o.visit(browser(t), "ada")
	ada.until(`((e) => { e.value = "ben"; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })(document.querySelector("#you"))`)
	ada.until(`location.search.includes("as=ben") && document.querySelector("#you").value === "ben"`)
	ada.js(`(setTimeout(() => history.back()), true)`)
	ada.until(`location.search.includes("as=ada") && document.querySelector("#say input[name=as]").value === "ada"`)
	ada.until(`document.querySelector("#you").value === "ada"`)
}
