function (request) {
	// The document names the base URL, while the reader may have come by another
	// address of the same service. Requests go to where the page came from, as the
	// browser would refuse those to other origins.
	var url = new URL(request.url, window.location);
	request.url = window.location.origin + url.pathname + url.search;

	// Swagger UI uses Basic credentials only with operations that declare them,
	// while the service accepts them with all.
	var basic = window.ui && window.ui.authSelectors.authorized().getIn(["basic", "value"]);
	if (basic && !request.headers.Authorization) {
		request.headers.Authorization = "Basic " + btoa(basic.get("username") + ":" + (basic.get("password") || ""));
	}

	// Swagger UI sends the parts of a form in the order of their names, and an empty
	// text for a file that was not chosen. The service wants the data first, and
	// takes any part for a file.
	var form = request.body;
	if (form instanceof FormData && form.has("data_json")) {
		var ordered = new FormData();
		ordered.append("data_json", form.get("data_json"));
		form.forEach(function (value, name) {
			if (name !== "data_json" && value !== "") {
				ordered.append(name, value);
			}
		});
		request.body = ordered;
	}
	return request;
}
