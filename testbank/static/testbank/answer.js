// A shop may have named a field `submit`, which would hide the form's own function.
HTMLFormElement.prototype.submit.call(document.forms[0]);
