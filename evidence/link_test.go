package evidence_test

import (
	"testing"

	"attestry/evidence"
)

func TestAbsoluteURLsHaveASchemeOfTheWeb(t *testing.T) {
	const relative, scheme = "Input should be a valid URL, relative URL without a base", "URL scheme should be 'http' or 'https'"
	for url, want := range map[string]string{
		"https://ci.example.com/7": "", "HTTP://ci.example.com": "", "": "Input should be a valid URL, input is empty",
		"www.example.com": relative, "/a": relative, " javascript:alert(1)": relative, "java\tscript:alert(1)": relative,
		"www.example.com:80/a": "", "localhost:8080/job/1": "", "jenkins:8080": "", "data:80/x": scheme, "gitlab:group/repo.git": scheme, "javascript:alert(1)": scheme, "data:,x": scheme, "file:///etc/passwd": scheme, "ssh://a": scheme,
	} {
		t.Run(url, func(t *testing.T) {
			if got := evidence.AbsoluteURLFault(url); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestLinksHaveASchemeOfTheWeb(t *testing.T) {
	for url, want := range map[string]struct{ link, repo bool }{
		"":                                     {true, true},
		"https://ci.example.com/7":             {true, true},
		"HTTP://ci.example.com:8080/7?a=b:c":   {true, true},
		"www.example.com":                      {true, true},
		"www.example.com:8080/a":               {true, true},
		"/builds/7:1":                          {true, true},
		"//example.com/a":                      {true, true},
		"**REDACTED**":                         {true, true},
		"git@example.com:a/b.git":              {true, true},
		"ssh://git@example.com/a/b":            {false, true},
		"git+ssh://example.com/a":              {false, true},
		"svn://example.com/a":                  {false, true},
		"javascript:alert(1)":                  {false, false},
		"JavaScript:alert(1)":                  {false, false},
		" \n\x01java\tscript\r\n:alert(1)":     {false, false},
		"javascript://example.com/%0aalert(1)": {false, false},
		"data:text/html,<script>":              {false, false},
		"file:///etc/passwd":                   {false, false},
		"vbscript:x":                           {false, false},
		"blob:https://example.com/1":           {false, false},
		"mailto:a@example.com":                 {false, false},
		"ftp://example.com":                    {false, false},
		":":                                    {true, true},
		"localhost:8080/job/1":                 {true, true},
		"jenkins:8080/job/1?a#b":               {true, true},
		"jenkins:8080":                         {true, true},
		"jenkins:8080?a=b":                     {true, true},
		"jenkins:":                             {false, true},
		"jenkins:8080.alert(1)":                {false, true},
		"jenkins:123456/a":                     {false, true},
		"gitlab:group/repo.git":                {false, true},
		"C:/repos/a":                           {false, true},
		"customapp://example.com":              {false, false},
		"javascript:1/alert(1)":                {false, false},
		"java\tscript:1/alert(1)":              {false, false},
		"vbscript:1/alert(1)":                  {false, false},
		"data:1/alert(1)":                      {false, false},
		"tel:112":                              {false, false},
	} {
		t.Run(url, func(t *testing.T) {
			if got := evidence.LinkFault(url); (got == "") != want.link {
				t.Errorf("as a link: %q", got)
			}
			if got := evidence.RepoURLFault(url); (got == "") != want.repo {
				t.Errorf("as a repository: %q", got)
			}
		})
	}
}
